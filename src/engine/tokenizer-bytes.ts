/**
 * Byte-level vocabulary: its alphabet (one printable character a byte), and how tokens' bytes lie over UTF-16 text.
 * Pure.
 */

/** Byte → character of the vocabulary's alphabet: printable Latin-1 stands for itself, the rest for U+0100 and up. */
export const BYTE_TO_CHARACTER: readonly string[] = buildAlphabet();

/** Code of a character of the alphabet → byte; -1 elsewhere. */
const CHARACTER_TO_BYTE = buildInverse();

function buildAlphabet(): string[] {
  const printable = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
}

function buildInverse(): Int16Array {
  const inverse = new Int16Array(0x180).fill(-1);
  BYTE_TO_CHARACTER.forEach((character, byte) => (inverse[character.charCodeAt(0)] = byte));
  return inverse;
}

const utf8 = new TextEncoder();

/** The bytes, spelt in the alphabet. */
export function toAlphabet(bytes: Uint8Array): string {
  let out = '';
  for (const byte of bytes) out += BYTE_TO_CHARACTER[byte]!;
  return out;
}

/** The bytes a token stands for; a token outside the alphabet (a control token) stands for its own UTF-8. */
export function bytesOfToken(token: string): Uint8Array {
  const bytes = new Uint8Array(token.length);
  for (let i = 0; i < token.length; i++) {
    const byte = CHARACTER_TO_BYTE[token.charCodeAt(i)] ?? -1;
    if (byte < 0) return utf8.encode(token);
    bytes[i] = byte;
  }
  return bytes;
}

/**
 * Walks over a text byte by byte of its UTF-8, in UTF-16 steps. `unit` is where the current character begins: after
 * the last byte of a character it is the next one's start, inside a character still its own.
 */
export class ByteWalk {
  unit = 0;
  private inside = 0;

  constructor(private readonly text: string) {}

  /** Goes to a character's start. */
  jumpTo(unit: number): void {
    this.unit = unit;
    this.inside = 0;
  }

  advance(bytes: number): void {
    while (bytes > 0 && this.unit < this.text.length) {
      const point = this.text.codePointAt(this.unit)!;
      const rest = utf8Length(point) - this.inside;
      if (bytes < rest) {
        this.inside += bytes;
        return;
      }
      bytes -= rest;
      this.inside = 0;
      this.unit += point > 0xffff ? 2 : 1;
    }
  }
}

/** A lone surrogate is written as U+FFFD, which has three bytes too. */
function utf8Length(point: number): number {
  return point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
}

/**
 * NFC of a text with, for every UTF-16 position of it, the position in the text. An ASCII character never composes
 * with what is before it, so the text is taken in runs that begin with one; inside a run that changed, every position
 * is the run's start.
 */
export function normalise(text: string): { readonly text: string; readonly at: Uint32Array } | undefined {
  const whole = text.normalize('NFC');
  if (whole === text) return undefined;
  const at = new Uint32Array(whole.length + 1);
  let from = 0;
  let to = 0;
  // eslint-disable-next-line no-control-regex -- ASCII, control characters included
  for (const [run] of text.matchAll(/[\x00-\x7f][^\x00-\x7f]*|[^\x00-\x7f]+/g)) {
    const normal = run.normalize('NFC');
    for (let i = 0; i < normal.length; i++) at[to + i] = normal === run ? from + i : from;
    from += run.length;
    to += normal.length;
  }
  at[to] = text.length;
  return { text: whole, at };
}
