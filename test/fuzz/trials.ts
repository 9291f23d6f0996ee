/**
 * Runs numbered hostile inputs and judges what comes of each: a value, or a `LongviewError` of one readable line with a
 * known code. Any other exception, a budget that is spent, or a file left open fails the test, naming seed and number;
 * `LONGVIEW_FUZZ=kind:number` runs that one alone.
 *
 * How work and memory are held against the input's size, honestly but not completely:
 * - every `ByteSource.read` and `fs.read` is counted; more calls or bytes than the budget throw from inside the read, so a reader that
 *   goes in circles ends by what it read and not by a clock;
 * - every typed array and buffer that is made through a global constructor is counted (a proxy in its place), summed over
 *   the whole case, whether or not it was freed; Node's own buffers are not seen;
 * - ordinary arrays, strings and Node's buffers show in the resident size, which may not grow beyond 256 MB in a suite.
 *
 * Files are read at once instead of through the thread pool: waiting for it was most of a case's time.
 */
import assert from 'node:assert/strict';
import fs, { readSync, readdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { LongviewError } from '../../src/base/index.js';
import { ByteSource } from '../../src/convert/checkpoint/byte-source.js';
import { Random } from './random.js';

const CODES = ['usage', 'not-found', 'bad-format', 'unsupported', 'hash-mismatch', 'permission'];
const LONGEST_MESSAGE = 400;
const MOST_GROWTH = 256e6;
/** Asking for the resident size takes as long as a small case does. */
const CASES_A_LOOK = 16;
/** Tables that are made once, whatever the file. */
const CONSTANT = 2 << 20;
const CONSTRUCTORS = [
  'ArrayBuffer',
  'Uint8Array',
  'Int8Array',
  'Uint16Array',
  'Int32Array',
  'Uint32Array',
  'Float32Array',
  'Float64Array',
  'BigInt64Array',
] as const;

interface Spent {
  reads: number;
  bytesRead: number;
  bytesMade: number;
}

let spent: Spent = { reads: 0, bytesRead: 0, bytesMade: 0 };
let allowed: Spent = { reads: Infinity, bytesRead: Infinity, bytesMade: Infinity };

/** Counts until the function it gives is called. */
async function startCounting(): Promise<() => void> {
  const handle = await open(fileURLToPath(import.meta.url));
  const handles = Object.getPrototypeOf(handle) as { read: unknown };
  await handle.close();
  const readHandle = handles.read;
  handles.read = function (this: { readonly fd: number }, ...given: [Uint8Array, number, number, number]) {
    return Promise.resolve({ bytesRead: readSync(this.fd, ...given), buffer: given[0] });
  };
  const source = ByteSource.prototype;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- put back below, called with its own `this`
  const read = source.read;
  source.read = function (this: ByteSource, offset, length) {
    spent.reads++;
    spent.bytesRead += length;
    assert(spent.reads <= allowed.reads, `read ${spent.reads} times`);
    assert(spent.bytesRead <= allowed.bytesRead, `read ${spent.bytesRead} bytes`);
    return read.call(this, offset, length);
  };
  const globals = globalThis as unknown as Record<string, new (...given: unknown[]) => { byteLength: number }>;
  const originals = CONSTRUCTORS.map(name => [name, globals[name]!] as const);
  for (const [name, original] of originals) {
    globals[name] = new Proxy(original, {
      construct(target, given, newTarget) {
        const made = Reflect.construct(target, given, newTarget) as { byteLength: number; buffer?: ArrayBuffer };
        // A view of something that is there already takes nothing.
        if (typeof given[0] !== 'object' || !('byteLength' in (given[0] ?? {}))) spent.bytesMade += made.byteLength;
        assert(spent.bytesMade <= allowed.bytesMade, `made ${spent.bytesMade} bytes of arrays`);
        return made;
      },
    });
  }
  const readFs = fs.read;
  // What the zip reader calls; FileHandle.read does not pass here.
  fs.read = function (...given: unknown[]) {
    spent.reads++;
    spent.bytesRead += typeof given[3] === 'number' ? given[3] : 0;
    const done = given.at(-1) as (...answer: unknown[]) => void;
    let answer: unknown[];
    try {
      assert(spent.reads <= allowed.reads, `read ${spent.reads} times`);
      assert(spent.bytesRead <= allowed.bytesRead, `read ${spent.bytesRead} bytes`);
      answer = [null, readSync(...(given.slice(0, 5) as [number, Uint8Array, number, number, number])), given[1]];
    } catch (error) {
      answer = [error];
    }
    setImmediate(() => done(...answer));
  } as typeof fs.read;
  return () => {
    handles.read = readHandle;
    source.read = read;
    fs.read = readFs;
    for (const [name, original] of originals) globals[name] = original;
  };
}

function openFiles(): number | undefined {
  try {
    return readdirSync('/proc/self/fd').length;
  } catch {
    return undefined;
  }
}

export class Trials {
  private readonly outcomes = new Map<string, number>();
  private stop: () => void = () => undefined;
  private rss = 0;
  private files: number | undefined;

  constructor(
    readonly kind: string,
    readonly seed: number,
  ) {}

  async start(): Promise<void> {
    this.rss = process.memoryUsage.rss();
    this.files = openFiles();
    this.stop = await startCounting();
  }

  /** Prints how many inputs had which outcome. */
  end(): void {
    this.stop();
    this.checkGrowth(this.kind);
    const outcomes = [...this.outcomes].sort().map(([code, count]) => `${code} ${count}`);
    process.stdout.write(`      ${this.kind}: ${outcomes.join(', ')}\n`);
    const left = (openFiles() ?? 0) - (this.files ?? 0);
    assert(left <= 0, `${left} files were left open`);
  }

  private checkGrowth(label: string): void {
    const growth = process.memoryUsage.rss() - this.rss;
    assert(growth < MOST_GROWTH, `${label}: ${Math.round(growth / 1e6)} MB more than at the start`);
  }

  /** `count` cases with their own random choices; numbers begin at `first`. */
  *cases(count: number, first = 0): Generator<[number: number, random: Random]> {
    const [kind, only] = (process.env['LONGVIEW_FUZZ'] ?? '').split(':');
    for (let number = first; number < first + count; number++) {
      if (only === undefined || (kind === this.kind && Number(only) === number)) {
        yield [number, new Random(this.seed, number)];
      }
    }
  }

  /** `size`: bytes of the input. `names`: what an error's message must name. Gives the error's code or `read`. */
  async judge(
    number: number,
    did: string,
    input: { readonly size: number; readonly names: RegExp },
    work: () => Promise<unknown>,
  ): Promise<string> {
    const label = `${this.kind} case ${number} of seed ${this.seed} (${JSON.stringify(did.slice(0, 300))})`;
    spent = { reads: 0, bytesRead: 0, bytesMade: 0 };
    allowed = { reads: 1000, bytesRead: 8 * input.size + 262_144, bytesMade: 24 * input.size + CONSTANT };
    let outcome = 'read';
    try {
      await work();
    } catch (error) {
      if (!(error instanceof LongviewError))
        assert.fail(`${label}: ${error instanceof Error ? error.stack : 'no error'}`);
      const { code, message } = error;
      assert(CODES.includes(code), `${label}: code ${code}: ${message}`);
      // eslint-disable-next-line no-control-regex -- these are what is looked for
      assert.doesNotMatch(message, /[\u0000-\u001f\u007f\u2028\u2029]/, `${label}: not one line: ${message}`);
      assert(message.length <= LONGEST_MESSAGE, `${label}: ${message.length} characters: ${message.slice(0, 600)}`);
      assert.match(message, input.names, `${label}: names nothing: ${message}`);
      outcome = code;
    } finally {
      const over = spent.reads > allowed.reads || spent.bytesRead > allowed.bytesRead;
      assert(!over, `${label}: read ${spent.reads} times, ${spent.bytesRead} bytes`);
      allowed = { reads: Infinity, bytesRead: Infinity, bytesMade: Infinity };
    }
    if (number % CASES_A_LOOK === 0) this.checkGrowth(label);
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
    return outcome;
  }
}
