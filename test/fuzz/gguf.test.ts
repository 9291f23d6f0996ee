/** Hostile GGUF files: every integer of the header set to every hostile value, every cut, and random changes. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { metadata, tensors } from '../convert/gguf-tiny.js';
import { writeGguf } from '../convert/gguf-writer.js';
import { HOSTILE_INTEGERS, mutateBytes, setField } from './byte-mutations.js';
import type { Mutated } from './byte-mutations.js';
import { overwrite } from './overwrite.js';
import { readCheckpoint } from './read-checkpoint.js';
import { Trials } from './trials.js';

suite('fuzz: GGUF', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'longview-fuzz-'));
  const path = join(folder, 'model.gguf');
  const trials = new Trials('gguf', 20_001);
  const all = tensors();
  const described = metadata();
  const written = writeGguf(described, all);
  const good = written.done();
  const fields = written.integers;
  const headerEnd = fields.at(-1)!.at + 8;
  suiteSetup(() => trials.start());
  suiteTeardown(() => {
    trials.end();
    rmSync(folder, { recursive: true });
  });

  const judge = async (number: number, { bytes, did }: Mutated): Promise<string> => {
    overwrite(path, bytes);
    return trials.judge(number, did, { size: bytes.length, names: /model\.gguf|tensor|tokenizer|chat template/ }, () =>
      readCheckpoint(path),
    );
  };

  test('as it was written it is read', async () => {
    assert.equal(await judge(-1, { bytes: good, did: 'nothing' }), 'read');
  });

  test('every integer of the header, every hostile value', async () => {
    for (const [number] of trials.cases(fields.length * HOSTILE_INTEGERS.length)) {
      const field = fields[Math.floor(number / HOSTILE_INTEGERS.length)]!;
      await judge(number, setField(good, field, HOSTILE_INTEGERS[number % HOSTILE_INTEGERS.length]!));
    }
  });

  test('cut before, in and after every integer of the header', async () => {
    for (const [number] of trials.cases(3 * fields.length, 100_000)) {
      const { at, bytes } = fields[Math.floor((number - 100_000) / 3)]!;
      const length = [at, at + 1, at + bytes][number % 3]!;
      assert.equal(await judge(number, { bytes: good.subarray(0, length), did: `cut at ${length}` }), 'bad-format');
    }
  });

  test('random changes', async () => {
    for (const [number, random] of trials.cases(1000, 200_000)) {
      await judge(number, mutateBytes(good, random, fields, headerEnd + 64));
    }
  });

  test('tensors that occur twice, overlap, or swap places', async () => {
    for (const [number, random] of trials.cases(600, 300_000)) {
      const list = [...all];
      const did: string[] = [];
      for (let i = 0; i < 1 + random.below(3); i++) {
        const [a, b] = [random.below(list.length), random.below(list.length)];
        const [from, to] = [list[a]!, list[b]!];
        const changed = random.pick([
          { ...to, name: from.name },
          { ...to, shape: from.shape },
          { ...to, type: random.pick([0, 1, 2, 3, 6, 7, 8, 10, 12, 14, 24, 28, 30, 99]) },
          { ...to, data: from.data },
          { ...to, shape: [...to.shape, random.pick([0, 1, 2, 2 ** 31])] },
          { ...to, shape: to.shape.slice(1) },
          { ...to, name: random.pick(['', 'x\ny', 'blk.9999.attn_q.weight', 'rope_freqs.weight', 'n'.repeat(900)]) },
        ]);
        list.splice(random.chance(0.3) ? list.length : b, 1, changed);
        did.push(`tensor ${b} after ${a}: ${changed.name.slice(0, 30)} [${changed.shape.join()}] ${changed.type}`);
      }
      await judge(number, { bytes: writeGguf(described, list).done(), did: did.join('; ') });
    }
  });
});
