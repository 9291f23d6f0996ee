/** GGUF files that lie, are cut off, or have a byte changed: a one-line error, and no memory for what they promise. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { refusalOf } from './gguf-refusal.js';
import { metadata, tensors } from './gguf-tiny.js';
import { ggufFile } from './gguf-writer.js';

suite('GGUF, damaged', function () {
  this.timeout(20_000);
  let folder: string;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-gguf-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  test('headers that lie are refused without memory for what they promise', async () => {
    const good = ggufFile(metadata(), tensors());
    const patch = (at: number, bytes: 4 | 8, value: bigint) => {
      const copy = Buffer.from(good);
      if (bytes === 8) copy.writeBigUInt64LE(value, at);
      else copy.writeUInt32LE(Number(value), at);
      return copy;
    };
    const tokens = good.indexOf('tokenizer.ggml.tokens') + 'tokenizer.ggml.tokens'.length;
    const embedding = good.indexOf('token_embd.weight') + 'token_embd.weight'.length;
    const cases: [Buffer, RegExp][] = [
      [patch(0, 4, 0x46554748n), /does not start with "GGUF"/],
      [patch(4, 4, 1n), /version 1 is not supported/],
      [patch(4, 4, 0x03000000n), /big-endian/],
      [patch(8, 8, 1n << 40n), /tensor count 1099511627776/],
      [patch(8, 8, 60_000n), /tensor count 60000/],
      [patch(16, 8, (1n << 64n) - 1n), /metadata count/],
      [patch(24, 8, 1n << 50n), /is too long/],
      [patch(24, 8, 1n << 31n), /is too long/],
      [patch(tokens, 4, 77n), /unknown type 77/],
      [patch(tokens + 4, 4, 9n), /array of arrays/],
      [patch(tokens + 8, 8, 1n << 33n), /length of "tokenizer\.ggml\.tokens" 8589934592/],
      [patch(embedding, 4, 9n), /has 9 dimensions/],
      [patch(embedding + 4, 8, 1n << 62n), /impossible shape/],
      [patch(embedding + 4, 8, 63n), /whole Q8_0 blocks/],
      [patch(embedding + 12, 8, 1n << 32n), /larger than the file/],
      [patch(embedding + 20, 4, 999n), /type 999/],
      [patch(embedding + 24, 8, 1n << 20n), /cut off or is damaged/],
      [patch(embedding + 24, 8, 8n), /not aligned to 32/],
      [patch(embedding + 24, 8, 32n), /overlaps another/],
    ];
    const before = process.memoryUsage().rss;
    for (const [bytes, message] of cases) {
      const error = await refusalOf(folder, bytes);
      assert.match(error.message, message);
      assert.equal(error.code, 'bad-format', error.message);
      assert.match(error.message, /^bad-\d+\.gguf: /);
    }
    assert.ok(process.memoryUsage().rss - before < 100e6, 'memory was taken for what the headers promise');
  });

  test('a file cut anywhere is refused as damaged', async () => {
    const good = ggufFile(metadata(), tensors());
    for (let length = 0; length < good.length; length += length < 2600 ? 41 : 4001) {
      assert.equal((await refusalOf(folder, good.subarray(0, length))).code, 'bad-format', `cut at ${length}`);
    }
  });

  test('a changed byte of the header never gives anything but a value or a LongviewError', async () => {
    const good = ggufFile(metadata(), tensors());
    const headerEnd = good.indexOf('output_norm.weight') + 60;
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: headerEnd }), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const bytes = Buffer.from(good);
        bytes[at] = bytes[at]! ^ flip;
        await refusalOf(folder, bytes).catch((error: unknown) => {
          if (!(error instanceof assert.AssertionError && error.message === 'the file was accepted')) throw error;
        });
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});
