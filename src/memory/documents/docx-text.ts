/**
 * The text of a Word document (.docx): paragraphs, headings with `#`, list items with `-`, rows of tables on one line each,
 * foot- and endnotes at the end. Headers, footers, comments and pictures are left out. Never opens what a document links to.
 */
import mammoth from 'mammoth';
import { failed, ok, type Result } from '../../base/index.js';
import { MOST_CHARACTERS, PlacedLines, type DocumentText } from './document-text.js';
import { unpackedSize } from './zip-size.js';

/** Of the tree that mammoth makes, what is looked at. */
interface Element {
  readonly type: string;
  readonly children?: readonly Element[];
  readonly value?: string;
  readonly styleId?: string | null;
  readonly styleName?: string | null;
  readonly numbering?: { readonly level: string } | null;
  readonly breakType?: string;
  readonly checked?: boolean;
  /** Of a note. */
  readonly body?: readonly Element[];
}

interface Document extends Element {
  readonly notes: { resolve(reference: Element): Element | null };
}

/** Of the unpacked XML; a book of a thousand pages has about 10 MB. */
const MOST_UNPACKED = 200_000_000;
/** How compound files begin: what Office writes for a document with a password, and wrote before 2007. */
const COMPOUND = Buffer.from('d0cf11e0a1b11ae1', 'hex');

/** Reasons: `encrypted`, `damaged`, `too large`, `too complex` (tables in tables without end). */
export async function docxText(bytes: Uint8Array): Promise<Result<DocumentText>> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.subarray(0, 8).equals(COMPOUND)) {
    return failed(buffer.includes(Buffer.from('EncryptedPackage', 'utf16le')) ? 'encrypted' : 'damaged');
  }
  const unpacked = unpackedSize(buffer, name => /\.(xml|rels)$/i.test(name));
  if (unpacked === undefined) return failed('damaged');
  if (unpacked > MOST_UNPACKED) return failed('too large');
  try {
    const document = await treeOf(buffer);
    const text = new DocxLines(document).done();
    return text ? ok(text) : failed('too large');
  } catch (error) {
    return failed(isStackFull(error) ? 'too complex' : 'damaged');
  }
}

/** The XML was sound, and deeper than it can be followed. */
function isStackFull(error: unknown): boolean {
  return error instanceof RangeError && /call stack/.test(error.message);
}

/** The document's tree, without making HTML of it. */
async function treeOf(buffer: Buffer): Promise<Document> {
  let tree: Document | undefined;
  const transformDocument = (document: Document): unknown => {
    tree = document;
    return { ...document, children: [] };
  };
  await mammoth.convertToHtml({ buffer }, { transformDocument, externalFileAccess: false });
  if (!tree) throw new Error('no document');
  return tree;
}

class DocxLines {
  private readonly lines = new PlacedLines('paragraph');
  private readonly notes: Element[] = [];
  /** The last line was an item or a row: another one follows without a gap. */
  private inList = false;

  constructor(private readonly document: Document) {}

  /** Undefined where there is too much of it. */
  done(): DocumentText | undefined {
    for (const element of this.document.children ?? []) {
      this.block(element);
      if (this.lines.characters > MOST_CHARACTERS) return undefined;
    }
    for (const note of this.notes) note.body?.forEach(element => this.block(element));
    return this.lines.characters > MOST_CHARACTERS ? undefined : this.lines.done();
  }

  private block(element: Element): void {
    if (element.type === 'paragraph') this.paragraph(element);
    else if (element.type === 'tableRow') {
      const cells = (element.children ?? []).map(cell => this.inline(cell).replace(/\s+/g, ' ').trim());
      this.put(cells.join(' | '), true);
    } else element.children?.forEach(child => this.block(child));
  }

  private paragraph(element: Element): void {
    const text = this.inline(element).trim();
    const heading = headingLevel(element);
    if (heading > 0) this.put(`${'#'.repeat(heading)} ${text.replace(/\s+/g, ' ')}`, false, text === '');
    else if (element.numbering) {
      this.put(`${'  '.repeat(Number(element.numbering.level) || 0)}- ${text}`, true, text === '');
    } else this.put(text, false);
  }

  private put(text: string, isItem: boolean, isEmpty = text.replaceAll('|', '').trim() === ''): void {
    if (isEmpty) return;
    if (!(isItem && this.inList)) this.lines.gap();
    this.lines.nextUnit();
    this.lines.add(text);
    this.inList = isItem;
  }

  private inline(element: Element): string {
    switch (element.type) {
      case 'text':
        return element.value ?? '';
      case 'tab':
        return '\t';
      case 'break':
        return element.breakType === 'line' ? '\n' : '';
      case 'checkbox':
        return element.checked ? '[x]' : '[ ]';
      case 'noteReference': {
        const note = this.document.notes.resolve(element);
        if (note && !this.notes.includes(note)) this.notes.push(note);
        return '';
      }
      default: {
        const parts = (element.children ?? []).map(child => this.inline(child));
        // Paragraphs of one cell.
        return parts.join(element.type === 'tableCell' ? ' ' : '');
      }
    }
  }
}

/** 1 to 6, or 0. Word keeps the English names of its own styles in the file, whatever its language. */
function headingLevel({ styleName, styleId }: Element): number {
  if (/^title$/i.test(styleName ?? '')) return 1;
  const level = /^heading ?([1-9])$/i.exec(styleName ?? styleId ?? '')?.[1];
  return level === undefined ? 0 : Math.min(6, Number(level));
}
