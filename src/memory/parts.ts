/**
 * Cuts a long text into parts, each read and kept by itself. Where it is cut depends on the text near the cut: an edit
 * moves the cuts around it and no others, and what is appended leaves all but the last part as they are. Never reads files.
 */
import { createHash } from 'node:crypto';

/** A stretch of a text, `text.slice(start, end)`; the parts of a text follow each other without a gap. */
export interface TextPart {
  readonly start: number;
  readonly end: number;
  /** The text's line, counted from 1, that the part begins in. */
  readonly firstLine: number;
}

/** Bytes of a part in UTF-8. */
export interface PartLimits {
  /** No cut before. */
  readonly least: number;
  /** What is not longer is not cut. */
  readonly most: number;
}

const NEWLINE = 10;
/** FNV-1a, 32 bits. */
const HASH_START = 0x811c9dc5;
const HASH_FACTOR = 0x01000193;

export function partsOfText(text: string, limits: PartLimits): TextPart[] {
  return [...eachPart(text, limits)];
}

/** The same, part by part. */
export function* eachPart(text: string, limits: PartLimits): Generator<TextPart> {
  let firstLine = 1;
  for (let start = 0; start < text.length;) {
    const end = endOfPart(text, start, limits);
    yield { start, end, firstLine };
    for (let at = text.indexOf('\n', start); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) firstLine++;
    start = end;
  }
}

/** SHA-256 of a part's text in UTF-8, hex. */
export function hashOfPart(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Of all parts, from the hashes of theirs in their order: under it their gist is kept. */
export function hashOfParts(hashes: readonly string[]): string {
  return hashOfPart(hashes.join(' '));
}

/**
 * Before the line between least and most that ranks first; inside a line where none begins there. Two texts that differ
 * elsewhere, and whose parts begin elsewhere, choose the same line wherever it is in the reach of both.
 */
function endOfPart(text: string, start: number, { least, most }: PartLimits): number {
  let best = { at: 0, rank: Infinity };
  let bytes = 0;
  let line = { start, bytesBefore: 0, hash: HASH_START, afterBlank: false };
  for (let at = start; at < text.length;) {
    const code = text.codePointAt(at)!;
    if (bytes + bytesOf(code) > most) {
      if (best.at > 0) return best.at;
      return line.bytesBefore >= least ? line.start : at;
    }
    bytes += bytesOf(code);
    at += code > 0xffff ? 2 : 1;
    line.hash = Math.imul(line.hash ^ code, HASH_FACTOR);
    if (code !== NEWLINE) continue;
    if (line.bytesBefore >= least) {
      const rank = rankOf(text, line);
      if (rank < best.rank) best = { at: line.start, rank };
    }
    const afterBlank = isBlank(text, line.start, at);
    line = { start: at, bytesBefore: bytes, hash: HASH_START, afterBlank };
  }
  return text.length;
}

/** Lines that open a paragraph, then others that are not indented, then the rest; among equals by hash. */
function rankOf(text: string, line: { start: number; hash: number; afterBlank: boolean }): number {
  const kind = isSpace(text.charCodeAt(line.start)) ? 2 : line.afterBlank ? 0 : 1;
  return kind * 2 ** 32 + (line.hash >>> 0);
}

function isBlank(text: string, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if (!isSpace(text.charCodeAt(at))) return false;
  return true;
}

function isSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13);
}

/** Bytes of a code point in UTF-8. */
function bytesOf(code: number): number {
  if (code < 0x80) return 1;
  if (code < 0x800) return 2;
  return code > 0xffff ? 4 : 3;
}
