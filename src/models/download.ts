/**
 * One file over HTTPS to disk, whole and right or not there: `NAME.part` grows (with `NAME.part.tag`, the server's tag of
 * the version it is part of), is checked against size and digest, then renamed. What was interrupted goes on from there
 * next time. Never keeps a file whose hash is wrong.
 */
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { LongviewError, throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import { busyWait, LONGEST_WAIT, RETRIES } from './busy.js';
import { checkSpace, digestOf, sizeOf } from './files.js';
import type { Digest } from './files.js';
import { get, networkError } from './http.js';
import type { HttpAnswer, HttpOptions } from './http.js';

export interface DownloadRequest {
  readonly url: string;
  /** Where the file is to be; its folder exists. */
  readonly path: string;
  readonly bytes: number;
  readonly digest: Digest;
  readonly onProgress?: ProgressListener;
  /** What is downloaded, for messages. */
  readonly label: string;
  /** What the host's refusal means, where the caller knows more than its status says. */
  readonly explain?: (answer: HttpAnswer) => LongviewError | undefined;
}

/** How often a transfer that broke off is taken up again before giving up; each time only after it moved on. */
const RESUMES = 5;

/**
 * Leaves the file at `path`. Throws `network` (no answer, broken off, busy), `not-found` (404), `permission` (401, 403),
 * `bad-format` (another size), `hash-mismatch`, `disk-full`, `cancelled`.
 */
export async function download(request: DownloadRequest, options: HttpOptions = {}): Promise<void> {
  const { path, bytes, digest } = request;
  if ((await sizeOf(path)) === bytes && (await digestOf(path, digest.kind, options)) === digest.hex) return;
  await rm(path, { force: true });
  const part = `${path}.part`;
  for (let resumes = 0, retries = 0, reached = -1; ;) {
    throwIfCancelled(options.signal);
    const have = await startOf(part, bytes);
    if (have === bytes) break;
    await checkSpace(dirname(path), bytes - have, `Downloading ${request.label}`);
    const outcome = await transfer(request, part, have, options);
    if (outcome.kind === 'complete') break;
    if (outcome.kind === 'busy') {
      if (retries++ >= RETRIES || outcome.wait > LONGEST_WAIT) throw outcome.error;
      await sleep(outcome.wait, undefined, { signal: options.signal }).catch(() => undefined);
      continue;
    }
    const now = await startOf(part, bytes);
    if (resumes++ >= RESUMES || now <= reached) throw outcome.error;
    reached = now;
  }
  await accept(request, part, options.signal);
}

type Outcome =
  | { readonly kind: 'complete' }
  | { readonly kind: 'broken'; readonly error: LongviewError }
  | { readonly kind: 'busy'; readonly error: LongviewError; readonly wait: number };

/** Bytes of the part that can be built on; a part that is too long or without a tag is of no use. */
async function startOf(part: string, bytes: number): Promise<number> {
  const size = await sizeOf(part);
  if (size < 0) return 0;
  const usable = size <= bytes && (size === bytes || (await tagOf(part)) !== '');
  if (usable) return size;
  await discard(part);
  return 0;
}

async function tagOf(part: string): Promise<string> {
  return readFile(`${part}.tag`, 'utf8').catch(() => '');
}

async function discard(part: string): Promise<void> {
  await rm(part, { force: true });
  await rm(`${part}.tag`, { force: true });
}

async function transfer(request: DownloadRequest, part: string, have: number, options: HttpOptions): Promise<Outcome> {
  const headers: Record<string, string> = have > 0 ? { range: `bytes=${have}-`, 'if-range': await tagOf(part) } : {};
  const answer = await get(request.url, headers, options);
  try {
    const from = await whereItBegins(request, answer, have);
    if (typeof from !== 'number') return from;
    await writeFile(`${part}.tag`, strongTag(answer));
    return await store(request, answer, part, from, options);
  } finally {
    answer.body.destroy();
  }
}

/** The offset at which the answer's body begins, or why there is none to be had now. */
async function whereItBegins(request: DownloadRequest, answer: HttpAnswer, have: number): Promise<number | Outcome> {
  const { status, host } = answer;
  const fail = (code: 'network' | 'not-found' | 'permission' | 'bad-format', reason: string) =>
    new LongviewError(code, `${request.label}: ${reason}.`);
  if (status === 200 || status === 206) {
    const range = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(answer.header('content-range') ?? '');
    const from = status === 200 ? 0 : Number(range?.[1] ?? NaN);
    const length = Number(answer.header('content-length') ?? NaN);
    const total = status === 200 ? length : Number(range?.[2] ?? NaN);
    if (status === 206 && from !== have) throw fail('network', `${host} answered with another part than asked for`);
    if (!Number.isNaN(total) && total !== request.bytes) {
      throw fail('bad-format', `${host} has ${total} bytes, not the expected ${request.bytes}`);
    }
    return from;
  }
  if (status === 416) {
    await discard(`${request.path}.part`);
    return { kind: 'broken', error: fail('network', `${host} could not continue the download`) };
  }
  const wait = busyWait(answer);
  if (wait !== undefined) {
    const why = status === 429 ? 'too many requests' : 'the server is in trouble';
    return { kind: 'busy', wait, error: fail('network', `${host} answered ${status} (${why}); try again later`) };
  }
  const explained = request.explain?.(answer);
  if (explained) throw explained;
  if (status === 401 || status === 403) throw fail('permission', `${host} refuses access (${status})`);
  if (status === 404 || status === 410) throw fail('not-found', `${host} has no such file (${status})`);
  throw fail('network', `${host} answered ${status}`);
}

/** A weak tag may be shared by different bytes, so it is no use for going on. */
function strongTag(answer: HttpAnswer): string {
  const tag = answer.header('etag') ?? '';
  return tag.startsWith('W/') ? '' : tag;
}

async function store(
  request: DownloadRequest,
  { body, host }: HttpAnswer,
  part: string,
  from: number,
  { signal }: HttpOptions,
): Promise<Outcome> {
  const file = await open(part, from === 0 ? 'w' : 'a');
  let done = from;
  const tell = () =>
    request.onProgress?.({ task: `Downloading ${request.label}`, done, total: request.bytes, unit: 'bytes' });
  try {
    tell();
    for await (const chunk of body) {
      const bytes = chunk as Uint8Array;
      if (done + bytes.length > request.bytes) {
        throw new LongviewError('bad-format', `${request.label}: ${host} sends more than ${request.bytes} bytes.`);
      }
      await file.writeFile(bytes);
      done += bytes.length;
      tell();
      throwIfCancelled(signal);
    }
  } catch (error) {
    const failure = writeError(error, request.label) ?? networkError(error, host, signal);
    if (failure.code === 'bad-format') await discard(part);
    if (failure.code !== 'network') throw failure;
    return { kind: 'broken', error: brokenOff(request, host, done, failure) };
  } finally {
    await file.close();
  }
  return done === request.bytes ? { kind: 'complete' } : { kind: 'broken', error: brokenOff(request, host, done) };
}

function writeError(error: unknown, label: string): LongviewError | undefined {
  const code = (error as NodeJS.ErrnoException).code;
  if (code === 'ENOSPC') return new LongviewError('disk-full', `${label}: the disk is full.`, { cause: error });
  return undefined;
}

function brokenOff(request: DownloadRequest, host: string, done: number, cause?: unknown): LongviewError {
  return new LongviewError(
    'network',
    `${request.label}: ${host} broke off after ${done} of ${request.bytes} bytes; the same command goes on from there.`,
    { cause },
  );
}

async function accept({ path, digest, label }: DownloadRequest, part: string, signal?: AbortSignal): Promise<void> {
  const found = await digestOf(part, digest.kind, { signal });
  if (found !== digest.hex) {
    await discard(part);
    const name = digest.kind === 'sha256' ? 'SHA-256' : 'git blob';
    throw new LongviewError(
      'hash-mismatch',
      `${label}: the downloaded file is not the one expected (${name} ${found.slice(0, 12)}… instead of ${digest.hex.slice(0, 12)}…); it was deleted.`,
    );
  }
  await rename(part, path);
  await rm(`${part}.tag`, { force: true });
}
