/**
 * The text of a document, and where in the document its lines stand: a PDF's pages, the paragraphs of a Word file, the
 * cells of a notebook. Its lines are what recall and citations count. Never reads a document.
 */

export type DocumentKind = 'pdf' | 'docx' | 'notebook';

/** What the lines of a text belong to, counted from 1 in the order of the document. */
export interface Places {
  readonly unit: 'page' | 'paragraph' | 'cell';
  /** First line of each unit; a unit without text has that of the next one. Lines count from 1. */
  readonly firstLines: readonly number[];
}

export interface DocumentText {
  /** Lines end with `\n`; without other control characters than tabs. */
  readonly text: string;
  readonly places: Places;
  /** What of the document gave no text, for people. */
  readonly partial?: string;
}

/** Longer texts are not made: the document is `too large`. */
export const MOST_CHARACTERS = 50_000_000;

/** E.g. `page 3` or `pages 3–4`, for lines that count from 1, both ends included. */
export function placeName({ unit, firstLines }: Places, startLine: number, endLine: number): string {
  const first = unitAt(firstLines, startLine);
  const last = Math.max(first, unitAt(firstLines, endLine));
  return first === last ? `${unit} ${first}` : `${unit}s ${first}–${last}`;
}

/** Collects the lines of a document, unit by unit. */
export class PlacedLines {
  private readonly lines: string[] = [];
  private readonly firstLines: number[] = [];
  characters = 0;

  constructor(private readonly unit: Places['unit']) {}

  /** What is added from here on belongs to the next unit. */
  nextUnit(): void {
    this.firstLines.push(this.lines.length + 1);
  }

  /** Text may have several lines. */
  add(text: string): void {
    for (const line of text.split(/\r\n|[\n\r\v\f\x85\u2028\u2029]/)) {
      // eslint-disable-next-line no-control-regex -- they are what is taken out
      this.lines.push(line.replace(/[\0-\x08\x0e-\x1f\x7f]/g, '').trimEnd());
      this.characters += line.length + 1;
    }
  }

  /** A blank line, unless there is one or nothing before it. */
  gap(): void {
    if (this.lines.length > 0 && this.lines.at(-1) !== '') this.add('');
  }

  done(partial?: string): DocumentText {
    const text = this.lines.length === 0 ? '' : `${this.lines.join('\n')}\n`;
    const places = { unit: this.unit, firstLines: this.firstLines };
    return partial === undefined ? { text, places } : { text, places, partial };
  }
}

/** Number of the last unit that begins at or above a line. */
function unitAt(firstLines: readonly number[], line: number): number {
  let low = 0;
  let high = firstLines.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (firstLines[middle]! <= line) low = middle + 1;
    else high = middle;
  }
  return Math.max(1, low);
}
