/**
 * The verdict on one regular file: by name, by size, by the first bytes. Reads a sample, never the whole file, and never
 * throws: what cannot be read is a verdict too.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, extname } from 'node:path';
import { kindByName, kindByText, magicOf } from './file-kinds.js';
import { OPEN_FLAGS } from './read-text.js';
import { secretByContent, secretByName } from './secret-files.js';
import { READ, skip } from './skip.js';
import type { Verdict } from './skip.js';
import { decodeText, detectEncoding } from './text-encoding.js';

export interface InspectOptions {
  /** Longer files are `too large`. */
  readonly maxBytes: number;
  /** Extensions, such as `.pdf`, of binary formats that the caller can turn into text. */
  readonly documents: ReadonlySet<string>;
  /** The user named this file: secrets, lock files, generated and minified code are read too. */
  readonly named: boolean;
}

const SAMPLE_BYTES = 16 * 1024;

export async function inspectFile(absolutePath: string, size: number, options: InspectOptions): Promise<Verdict> {
  const name = basename(absolutePath);
  const secret = options.named ? undefined : secretByName(name);
  if (secret !== undefined) return skip('secret', secret);
  if (size === 0) return skip('empty');
  if (size > options.maxBytes) return skip('too large', `${size} bytes`);
  const kind = options.named ? undefined : kindByName(name);
  if (kind !== undefined) return kind;
  let sample: Uint8Array;
  try {
    sample = await sampleOf(absolutePath, Math.min(size, SAMPLE_BYTES));
  } catch (error) {
    return skip('unreadable', (error as { code?: string }).code ?? 'unknown');
  }
  return verdictOn(name, sample, sample.byteLength >= size, options);
}

function verdictOn(name: string, sample: Uint8Array, complete: boolean, options: InspectOptions): Verdict {
  if (options.documents.has(extname(name).toLowerCase())) return READ;
  const magic = magicOf(sample);
  if (magic !== undefined) return skip('binary', magic);
  const detected = detectEncoding(sample, complete);
  if (detected.kind === 'binary') return skip('binary', detected.detail);
  if (detected.kind === 'unknown') return skip('encoding');
  const whole = detected.encoding.startsWith('utf-16') ? sample.subarray(0, sample.byteLength & ~1) : sample;
  const start = decodeText(whole, detected.encoding);
  if (start === undefined) return skip('encoding', detected.encoding);
  if (options.named) return READ;
  const secret = secretByContent(start);
  if (secret !== undefined) return skip('secret', secret);
  return kindByText(name, start) ?? READ;
}

/** The first `wanted` bytes, or as many as there are, of a regular file that is no link. */
async function sampleOf(path: string, wanted: number): Promise<Uint8Array> {
  const noFollow = process.platform === 'win32' ? 0 : constants.O_NOFOLLOW;
  const file = await open(path, OPEN_FLAGS | noFollow);
  try {
    if (!(await file.stat()).isFile()) throw Object.assign(new Error('not a file'), { code: 'not a file' });
    const sample = Buffer.allocUnsafe(wanted);
    let length = 0;
    while (length < wanted) {
      const { bytesRead } = await file.read(sample, length, wanted - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return sample.subarray(0, length);
  } finally {
    await file.close();
  }
}
