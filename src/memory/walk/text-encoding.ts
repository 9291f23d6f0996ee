/**
 * Which encoding bytes are in, and their text. Tells binary data from text; never guesses where the bytes themselves say
 * it (byte order marks, valid UTF-8). Line ends stay as they are; a byte order mark is not part of the text.
 */
import { analyse } from 'chardet';
import iconv from 'iconv-lite';

export type Detected =
  | { readonly kind: 'text'; readonly encoding: string }
  | { readonly kind: 'binary'; readonly detail: string }
  | { readonly kind: 'unknown' };

/** How much of a file is looked at for zero bytes and for guessing. */
const GUESS_BYTES = 64 * 1024;
/** Share of control characters from which bytes are no text. */
const MOST_CONTROLS = 0.05;
/** UTF-8 with faults (a log that was cut, say) has this many whole sequences for each broken one; no other encoding has. */
const WHOLE_PER_BROKEN = 10;
/** Share of characters that may be missing after decoding from a guessed encoding. */
const MOST_BROKEN = 0.001;
/** Guesses below this (of 100) are worth nothing. */
const LEAST_CONFIDENCE = 10;

/** `complete`: `bytes` is the whole file, not its beginning. */
export function detectEncoding(bytes: Uint8Array, complete: boolean): Detected {
  const marked = byteOrderMark(bytes);
  if (marked !== undefined) return marked;
  const start = bytes.subarray(0, GUESS_BYTES);
  if (start.includes(0)) {
    const wide = wideWithoutMark(start);
    return wide === undefined ? { kind: 'binary', detail: 'zero bytes' } : text(wide);
  }
  if (controlsOf(start) > MOST_CONTROLS * start.byteLength) return { kind: 'binary', detail: 'control characters' };
  if (isUtf8(bytes, complete)) return text('utf-8');
  const guess = guessOf(start);
  return guess === undefined ? { kind: 'unknown' } : text(guess);
}

/** The text of bytes in an encoding that `detectEncoding` gave for them; `undefined` if they are not in it. */
export function decodeText(bytes: Uint8Array, encoding: string): string | undefined {
  const body = bodyOf(bytes, encoding);
  if (encoding === 'utf-8') return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body);
  if (encoding === 'utf-16le' || encoding === 'utf-16be') {
    if (body.byteLength % 2 !== 0) return undefined;
    const little = encoding === 'utf-16le' ? body : Buffer.from(body).swap16();
    return new TextDecoder('utf-16le', { ignoreBOM: true }).decode(little);
  }
  const decoded = iconv.decode(Buffer.from(body.buffer, body.byteOffset, body.byteLength), encoding);
  return isDecoded(decoded) ? decoded : undefined;
}

/** True if what was decoded from a guessed encoding can be in it. */
export function isDecoded(decoded: string): boolean {
  const broken = decoded.split('\ufffd').length - 1;
  return broken <= MOST_BROKEN * decoded.length;
}

function text(encoding: string): Detected {
  return { kind: 'text', encoding };
}

function byteOrderMark(bytes: Uint8Array): Detected | undefined {
  const [a, b, c, d] = bytes;
  if (a === 0xef && b === 0xbb && c === 0xbf) return text('utf-8');
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return { kind: 'binary', detail: 'UTF-32' };
  if (a === 0xff && b === 0xfe) return text('utf-16le');
  if (a === 0xfe && b === 0xff) return text('utf-16be');
  return undefined;
}

/** Without the byte order mark of that encoding. */
export function bodyOf(bytes: Uint8Array, encoding: string): Uint8Array {
  const marked = byteOrderMark(bytes);
  if (marked?.kind !== 'text' || marked.encoding !== encoding) return bytes;
  return bytes.subarray(encoding === 'utf-8' ? 3 : 2);
}

/** UTF-16 without a mark: in text of mostly Latin letters every second byte is 0, and hardly any of the others. */
function wideWithoutMark(sample: Uint8Array): string | undefined {
  if (sample.byteLength < 8) return undefined;
  const zeros = [0, 0];
  for (let at = 0; at < sample.byteLength; at++) if (sample[at] === 0) zeros[at & 1]!++;
  const half = sample.byteLength / 2;
  const [even, odd] = zeros as [number, number];
  const isText = (encoding: string): string | undefined => {
    const decoded = decodeText(sample.subarray(0, sample.byteLength & ~1), encoding) ?? '\0';
    // The last character may be cut in two.
    // eslint-disable-next-line no-control-regex -- control characters are what is looked for
    return /[\0-\x08\x0e-\x1a\ufffd\ufffe\uffff]/.test(decoded.replace(/\ufffd$/, '')) ? undefined : encoding;
  };
  if (odd > 0.4 * half && even < 0.02 * half) return isText('utf-16le');
  if (even > 0.4 * half && odd < 0.02 * half) return isText('utf-16be');
  return undefined;
}

function controlsOf(sample: Uint8Array): number {
  let controls = 0;
  // Tab, line ends, form feed and escape (terminal colours in logs) are text.
  for (const byte of sample) if ((byte < 32 && !(byte >= 9 && byte <= 13) && byte !== 27) || byte === 127) controls++;
  return controls;
}

/** A sequence cut by the end of an incomplete sample is no fault. */
function isUtf8(bytes: Uint8Array, complete: boolean): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: !complete });
    return true;
  } catch {
    const decoded = new TextDecoder('utf-8').decode(bytes, { stream: !complete });
    const broken = decoded.split('\ufffd').length - 1;
    const whole = (decoded.match(/[^\0-\x7f\ufffd]/gu) ?? []).length;
    return whole >= WHOLE_PER_BROKEN * broken;
  }
}

/** The likeliest encoding that can be decoded. Only lines with bytes beyond ASCII say anything about it. */
function guessOf(sample: Uint8Array): string | undefined {
  const telling = tellingLines(sample);
  for (const { name, confidence } of analyse(telling)) {
    if (confidence < LEAST_CONFIDENCE) return undefined;
    if (name === 'ASCII' || !iconv.encodingExists(name) || name.startsWith('UTF-')) continue;
    if (decodeText(telling, name) !== undefined) return name.toLowerCase();
  }
  return undefined;
}

function tellingLines(sample: Uint8Array): Uint8Array {
  const lines: Uint8Array[] = [];
  for (let from = 0; from < sample.byteLength;) {
    const end = sample.indexOf(10, from);
    const to = end === -1 ? sample.byteLength : end + 1;
    const line = sample.subarray(from, to);
    if (line.some(byte => byte >= 0x80)) lines.push(line);
    from = to;
  }
  return Buffer.concat(lines);
}
