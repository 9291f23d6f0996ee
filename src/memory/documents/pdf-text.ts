/**
 * The text layer of a PDF, page by page, in the order in which the file draws it. Pictures are not looked at: a scan
 * without a text layer has no text. Runs no script of the document and loads nothing it names.
 */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type * as PdfJs from 'pdfjs-dist/legacy/build/pdf.mjs';
import { failed, ok, type Result } from '../../base/index.js';
import { MOST_CHARACTERS, PlacedLines, type DocumentText } from './document-text.js';

/** Of a piece of text on a page, what is looked at. */
interface Piece {
  readonly str: string;
  readonly hasEOL: boolean;
  readonly height: number;
  /** The last one is the baseline's distance from the page's lower edge. */
  readonly transform: readonly number[];
}

/** Baselines further apart than so many letter heights are of two paragraphs. */
const PARAGRAPH_GAP = 1.75;
/** Pages that are named one by one where they gave no text. */
const MOST_NAMED = 8;

/** Reasons: `encrypted`, `damaged`, `no text`, `too large`. `onPage` is called after each page. */
export async function pdfText(bytes: Uint8Array, onPage: () => void): Promise<Result<DocumentText>> {
  const { getDocument, VerbosityLevel } = await loadPdfJs();
  const task = getDocument({
    // pdf.js takes the memory over.
    data: new Uint8Array(bytes),
    verbosity: VerbosityLevel.ERRORS,
    cMapUrl: `${characterMaps()}/`,
    cMapPacked: true,
    isEvalSupported: false,
    useSystemFonts: false,
    disableFontFace: true,
    fontExtraProperties: false,
    isOffscreenCanvasSupported: false,
    isImageDecoderSupported: false,
    useWasm: false,
    enableXfa: false,
  });
  try {
    const document = await task.promise;
    const lines = new PlacedLines('page');
    const without: number[] = [];
    for (let number = 1; number <= document.numPages; number++) {
      lines.gap();
      lines.nextUnit();
      let pieces: readonly Piece[] = [];
      try {
        const page = await document.getPage(number);
        const content = await page.getTextContent();
        pieces = content.items.filter(item => 'str' in item);
        page.cleanup();
      } catch {
        // A damaged page is one without text.
      }
      if (!addPage(pieces, lines)) without.push(number);
      if (lines.characters > MOST_CHARACTERS) return failed('too large');
      onPage();
    }
    if (without.length === document.numPages) return failed('no text');
    return ok(lines.done(without.length === 0 ? undefined : withoutText(without, document.numPages)));
  } catch (error) {
    return failed((error as Error).name === 'PasswordException' ? 'encrypted' : 'damaged');
  } finally {
    await task.destroy().catch(() => undefined);
  }
}

/** False where the page has no text. */
function addPage(pieces: readonly Piece[], lines: PlacedLines): boolean {
  let line = '';
  let baseline: number | undefined;
  let before: { baseline: number; height: number } | undefined;
  let height = 0;
  let hasText = false;
  const end = (): void => {
    if (line.trim() !== '') {
      const apart = before && baseline !== undefined ? Math.abs(before.baseline - baseline) : 0;
      if (before && apart > PARAGRAPH_GAP * Math.max(before.height, height)) lines.gap();
      lines.add(line);
      hasText = true;
      before = { baseline: baseline ?? 0, height };
    }
    line = '';
    baseline = undefined;
    height = 0;
  };
  for (const { str, hasEOL, height: own, transform } of pieces) {
    if (str.trim() !== '') {
      baseline ??= transform[5];
      height = Math.max(height, own);
    }
    line += str;
    if (hasEOL) end();
  }
  end();
  return hasText;
}

function withoutText(pages: readonly number[], count: number): string {
  const named = pages.slice(0, MOST_NAMED).join(', ');
  const more = pages.length > MOST_NAMED ? `, … (${pages.length})` : '';
  return `no text on ${pages.length === 1 ? 'page' : 'pages'} ${named}${more} of ${count}`;
}

let loaded: Promise<typeof PdfJs> | undefined;

/**
 * pdf.js, and its worker in this same thread. It looks for a native canvas and for classes of the browser to draw with;
 * text needs neither, so it finds no canvas and empty classes.
 */
function loadPdfJs(): Promise<typeof PdfJs> {
  loaded ??= (async () => {
    const require = createRequire(import.meta.url);
    const none = function (): void {
      // Is made once while pdf.js is loaded, and never drawn with.
    };
    Object.assign(globalThis, { DOMMatrix: none, ImageData: none, Path2D: none });
    process.getBuiltinModule = () => {
      throw new Error('no native canvas');
    };
    const pdfJs = await import('pdfjs-dist/legacy/build/pdf.mjs');
    // Node before 20.16 does not have it.
    const builtIn = (name: string): unknown => require(`node:${name}`);
    process.getBuiltinModule = builtIn as typeof process.getBuiltinModule;
    // Makes itself known to pdf.js, which then starts no worker of its own.
    await import('pdfjs-dist/legacy/build/pdf.worker.mjs');
    return pdfJs;
  })();
  return loaded;
}

/** Folder of the maps from the character codes of Chinese, Japanese and Korean fonts: beside a bundle, else in the package. */
function characterMaps(): string {
  const beside = join(dirname(fileURLToPath(import.meta.url)), 'cmaps');
  if (existsSync(beside)) return beside;
  return join(dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json')), 'cmaps');
}
