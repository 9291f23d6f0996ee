/**
 * The text of a whole file's bytes, in steps of a megabyte between which other work goes on. A text whose first
 * megabyte is not UTF-8 is not UTF-8; else the same as `detectEncoding` and `decodeText` on all bytes at once.
 */
import iconv from 'iconv-lite';
import { GiveWay } from '../give-way.js';
import { bodyOf, detectEncoding, isDecoded } from './text-encoding.js';

const STEP_BYTES = 1 << 20;

/** The text, its lone carriage returns as line ends, and its encoding; or the reason why there is none: `binary`, `encoding`. */
export async function textOf(bytes: Uint8Array): Promise<{ text: string; encoding: string } | 'binary' | 'encoding'> {
  const first = detectEncoding(bytes.subarray(0, STEP_BYTES), bytes.byteLength <= STEP_BYTES);
  if (first.kind === 'text' && first.encoding === 'utf-8') {
    const text = await decode(bytes, 'utf-8', true);
    if (text !== undefined) return { text, encoding: 'utf-8' };
  }
  const isTold = first.kind === 'binary' || (first.kind === 'text' && first.encoding !== 'utf-8');
  const detected = isTold ? first : detectEncoding(bytes, true);
  if (detected.kind !== 'text') return detected.kind === 'binary' ? 'binary' : 'encoding';
  const { encoding } = detected;
  const text = await decode(bytes, encoding, false);
  return text === undefined ? 'encoding' : { text, encoding };
}

/** Undefined where the bytes are not in the encoding; `exact`: where there is any fault. */
async function decode(bytes: Uint8Array, encoding: string, exact: boolean): Promise<string | undefined> {
  const body = bodyOf(bytes, encoding);
  if (encoding.startsWith('utf-16') && body.byteLength % 2 !== 0) return undefined;
  const way = new GiveWay();
  const decoder = decoderOf(encoding, exact);
  let text = '';
  let held = '';
  const add = (piece: string): void => {
    const whole = held + piece;
    // Whether it stands alone is seen in the next piece.
    held = whole.endsWith('\r') ? '\r' : '';
    const told = held === '' ? whole : whole.slice(0, -1);
    text += told.includes('\r') ? told.replace(/\r(?!\n)/g, '\n') : told;
  };
  try {
    for (let at = 0; at < body.byteLength; at += STEP_BYTES) {
      add(decoder.write(body.subarray(at, at + STEP_BYTES)));
      await way.step();
    }
    add(decoder.end());
    if (held !== '') text += '\n';
  } catch {
    return undefined;
  }
  return encoding.startsWith('utf-') || isDecoded(text) ? text : undefined;
}

interface Decoder {
  write(bytes: Uint8Array): string;
  end(): string;
}

function decoderOf(encoding: string, exact: boolean): Decoder {
  if (!encoding.startsWith('utf-')) {
    const stream = iconv.getDecoder(encoding);
    return {
      write: bytes => stream.write(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)),
      end: () => stream.end() ?? '',
    };
  }
  const decoder = new TextDecoder(encoding === 'utf-8' ? 'utf-8' : 'utf-16le', { ignoreBOM: true, fatal: exact });
  const swap = encoding === 'utf-16be';
  return {
    write: bytes => decoder.decode(swap ? Buffer.from(bytes).swap16() : bytes, { stream: true }),
    end: () => decoder.decode(),
  };
}
