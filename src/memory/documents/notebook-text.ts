/**
 * The text of a Jupyter notebook: its cells as Markdown, code between fences. Outputs are left out: they hold images and
 * tables of data, and what they say is the code's word, not the author's. Knows formats 3 and 4.
 */
import { failed, fenced, ok, type Result } from '../../base/index.js';
import { MOST_CHARACTERS, PlacedLines, type DocumentText } from './document-text.js';

/** Reasons: `damaged`, `too large`. */
export function notebookText(bytes: Uint8Array): Result<DocumentText> {
  let notebook: unknown;
  try {
    notebook = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    return failed('damaged');
  }
  const cells = cellsOf(notebook);
  if (!cells) return failed('damaged');
  const lines = new PlacedLines('cell');
  const language = languageOf(notebook);
  for (const cell of cells) {
    lines.nextUnit();
    const kind = property(cell, 'cell_type');
    const source = sourceOf(property(cell, 'source') ?? property(cell, 'input')).replace(/\s+$/, '');
    if (source === '') continue;
    if (kind === 'code') {
      lines.add(fenced(source, language));
    } else if (kind === 'heading') {
      lines.add(`${'#'.repeat(Math.min(6, Number(property(cell, 'level')) || 1))} ${source}`);
    } else {
      lines.add(source);
    }
    lines.gap();
    if (lines.characters > MOST_CHARACTERS) return failed('too large');
  }
  return ok(lines.done());
}

function cellsOf(notebook: unknown): unknown[] | undefined {
  const cells = property(notebook, 'cells');
  if (Array.isArray(cells)) return cells as unknown[];
  const sheets = property(notebook, 'worksheets');
  if (!Array.isArray(sheets)) return undefined;
  return sheets.flatMap(sheet => {
    const own = property(sheet, 'cells');
    return Array.isArray(own) ? (own as unknown[]) : [];
  });
}

/** For the fences; only a plain name. */
function languageOf(notebook: unknown): string {
  const metadata = property(notebook, 'metadata');
  const name =
    property(property(metadata, 'language_info'), 'name') ?? property(property(metadata, 'kernelspec'), 'language');
  return typeof name === 'string' && /^[\w+#-]{1,20}$/.test(name) ? name : '';
}

function sourceOf(source: unknown): string {
  if (typeof source === 'string') return source;
  return Array.isArray(source) ? source.filter(line => typeof line === 'string').join('') : '';
}

function property(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined;
}
