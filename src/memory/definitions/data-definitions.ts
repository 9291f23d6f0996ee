/** Keys of configuration files and headings of documents that name something. Never looks at values. */
import { indentOf } from '../indentation.js';
import { groupsIn, seenText } from './any-letters.js';
import { MAX_DEFINITIONS, owned, type Definition } from './definition.js';

const key: Readonly<Record<string, RegExp>> = {
  yaml: /^(?:-\s+)?["']?(?<name>[A-Za-z_$][\w$./-]*)["']?\s*:(?:\s|$)/,
  toml: /^["']?(?<name>[A-Za-z_][\w.-]*)["']?\s*=/,
  ini: /^(?<name>[A-Za-z_][\w.-]*)\s*[=:]/,
};
const jsonKey = /^"(?<name>[A-Za-z_$][\w$./-]*)"\s*:/;
const section = /^\[\[?\s*["']?(?<name>[\w.: -]+?)["']?\s*\]\]?$/;
const heading = /^(?:#{1,6}|={1,6})\s+(?<text>.+?)\s*#*$/;
const underline = /^(?:={3,}|-{3,}|~{3,}|\^{3,}|"{3,})\s*$/;
/** A heading that is one name: `` `parse(text)` ``, `module.parse`, `--max-retries`. */
const named = /^[`*]*(?:[\w$]+(?:\.|::|#))*(?<name>[A-Za-z_$][\w$]*)(?:\([^)]*\))?:?[`*]*$/;

/** The first place of each key of a file: what repeats is data. */
export function dataDefinitions(id: string, lines: readonly string[]): Definition[] {
  const pattern = id.startsWith('json') ? jsonKey : (key[id] ?? key['ini']!);
  const seen = new Set<string>();
  const out: Definition[] = [];
  const parents: { indent: number; name: string }[] = [];
  let inSection: string | undefined;
  for (let at = 0; at < lines.length && out.length < MAX_DEFINITIONS; at++) {
    const text = lines[at]!.trim();
    if (text === '' || /^(?:#|\/\/|;)/.test(text)) continue;
    const shown = seenText(text);
    const header = id === 'toml' || id === 'ini' ? groupsIn(section, shown)?.['name'] : undefined;
    const name = header ?? groupsIn(pattern, shown)?.['name'];
    if (name === undefined) continue;
    const indent = indentOf(lines[at]!);
    while (parents.length > 0 && parents.at(-1)!.indent >= indent) parents.pop();
    const container = parents.at(-1)?.name ?? (header === undefined ? inSection : undefined);
    if (header === undefined) parents.push({ indent, name });
    else inSection = header;
    const own = name.slice(name.lastIndexOf('.') + 1).trim();
    if (own === '' || seen.has(own)) continue;
    seen.add(own);
    out.push({
      name: owned(own),
      kind: 'key',
      line: at + 1,
      ...(container === undefined ? {} : { container: owned(container) }),
    });
  }
  return out;
}

export function headingDefinitions(lines: readonly string[]): Definition[] {
  const out: Definition[] = [];
  let fenced = false;
  lines.forEach((line, at) => {
    if (/^\s*(?:```|~~~)/.test(line)) fenced = !fenced;
    if (fenced || out.length >= MAX_DEFINITIONS) return;
    const text =
      heading.exec(line)?.groups?.['text'] ?? (underline.test(lines[at + 1] ?? '') ? line.trim() : undefined);
    const name = text === undefined ? undefined : groupsIn(named, seenText(text))?.['name'];
    if (name !== undefined && isIdentifier(name, text!)) out.push({ name: owned(name), kind: 'heading', line: at + 1 });
  });
  return out;
}

/** `Usage` is a word; `parseOptions`, `max_retries`, `` `usage` `` and `usage()` are names. */
function isIdentifier(name: string, text: string): boolean {
  return /[_$\d]|\p{Ll}\p{Lu}/u.test(name) || /[`(.]|::/.test(text);
}
