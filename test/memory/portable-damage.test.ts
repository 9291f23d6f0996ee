/** Exports that are damaged, cut off, or made to do harm: each is refused with a reason, and nothing of it is taken. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { encodeEnd, encodeFile, encodeHead, isPortablePath } from '../../src/memory/portable/export-file.js';
import { readExport } from '../../src/memory/portable/read-export.js';
import { FRAME_HEADER_BYTES, FrameKind, frame, frameHead } from '../../src/memory/store/frame.js';
import { encodeFileMemory, type FileMemory, type Store } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';
import { randomNumbers, sampleMemory } from './store-samples.js';

const files = { 'a.py': 'def send(url):\n    return url\n', 'b.py': 'class Retry:\n    pass\n', 'c.md': '# Guide\n' };

suite('damaged and hostile exports', function () {
  this.timeout(60_000);
  let folder: Folder;
  let memory: WorkspaceMemory;
  let store: Store;
  let file: string;
  let sound: Buffer;
  suiteSetup(async () => {
    const source = await Folder.of(files);
    const read = await source.memory(new FakeEngine());
    await read.refresh();
    const made = join(dirname(source.root), 'x');
    await read.exportTo(made);
    sound = await readFile(made);
    await source.dispose();
    folder = await Folder.of(files);
    memory = await folder.memory(new FakeEngine());
    store = await folder.store();
    file = join(dirname(folder.root), 'bad.longview-memory');
  });
  suiteTeardown(() => folder.dispose());

  /** Code and message of the refusal of these bytes; the store holds nothing after it. */
  const refusal = async (bytes: Uint8Array): Promise<string> => {
    await writeFile(file, bytes);
    const error = await memory.importFrom([file]).then(
      () => assert.fail('was not refused'),
      (reason: unknown) => reason,
    );
    assert.ok(error instanceof LongviewError, String((error as Error).stack));
    assert.ok(error.code === 'bad-format' || error.code === 'unsupported', error.message);
    assert.equal(error.message.split('\n').length, 1);
    assert.deepEqual(store.listKeys(), []);
    assert.deepEqual(store.ledger.all(), []);
    return error.message;
  };

  test('every byte: one bit of it flipped, and the file is refused', async () => {
    const scratch = await mkdtemp(join(tmpdir(), 'longview-flips-'));
    const path = join(scratch, 'x');
    const random = randomNumbers(3);
    // The reader alone, without a store: all bytes of the heads and every fifth of the rest, in a random bit each.
    for (let at = 0; at < sound.length; at += at < 1000 ? 1 : 5) {
      const bytes = Buffer.from(sound);
      bytes[at]! ^= 1 << Math.floor(random() * 8);
      await writeFile(path, bytes);
      await assert.rejects(
        readExport(path, { onHead: () => undefined }, () => undefined),
        (error: unknown) => error instanceof LongviewError && /^(bad-format|unsupported)$/.test(error.code),
        `byte ${at}`,
      );
    }
    await rm(scratch, { recursive: true });
  });

  test('some bytes flipped: nothing is taken into the store', async () => {
    const random = randomNumbers(4);
    for (let round = 0; round < 60; round++) {
      const bytes = Buffer.from(sound);
      bytes[Math.floor(random() * bytes.length)]! ^= 1 << Math.floor(random() * 8);
      await refusal(bytes);
    }
  });

  test('cut off anywhere, or going on after its end', async () => {
    for (let length = 0; length < sound.length; length += 1 + (length >> 4)) {
      assert.match(await refusal(sound.subarray(0, length)), /cut off|ends too early/);
    }
    assert.match(await refusal(sound.subarray(0, sound.length - 1)), /cut off/);
    assert.match(await refusal(Buffer.concat([sound, Buffer.alloc(1)])), /goes on after its end/);
    assert.match(await refusal(Buffer.concat([sound, sound])), /goes on after its end/);
  });

  test('another version is told from damage', async () => {
    const bytes = Buffer.from(sound);
    bytes.writeUInt32LE(3, 12);
    assert.equal(
      await refusal(bytes),
      'bad.longview-memory has version 3 of the format, not 2: export it with this version, or update.',
    );
  });

  test('envelopes in another order, doubled or missing, each sound in itself', async () => {
    const parts = envelopesOf(sound);
    // Head, then a record and a memory for each of three files, then the end.
    assert.equal(parts.length, 8);
    const [head, a, ofA, b, ofB, c, ofC, end] = parts as [
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
      Buffer,
    ];
    for (const [name, given, pattern] of [
      ['order', [head, b, ofB, a, ofA, c, ofC, end], /out of order/],
      ['doubled', [head, a, ofA, a, ofA, b, ofB, c, ofC, end], /out of order/],
      ['missing file', [head, a, ofA, c, ofC, end], /hash is another/],
      ['missing memory', [head, a, b, ofB, c, ofC, end], /the memory of "a\.py" is damaged/],
      ['memories swapped', [head, a, ofB, b, ofA, c, ofC, end], /the memory of "a\.py" is of another file/],
      ['no head', [a, ofA, end], /its head is damaged/],
      ['no end', [head, a, ofA], /ends too early/],
      ['two heads', [head, head, a, ofA, end], /a file is damaged/],
    ] as const) {
      assert.match(await refusal(Buffer.concat(given)), pattern, name);
    }
  });

  test('sound envelopes whose hashes are right but whose content is not', async () => {
    const memoryOf = (more: Partial<FileMemory> = {}): FileMemory => ({ ...sampleMemory('a.py', 'x'), ...more });
    const { gist, recall, provenance } = memoryOf();
    const longLines = { ...provenance, lines: provenance.lines.map(() => 4_000_000_000) };
    const nothing = { keys: new Int8Array(0), scales: new Float32Array(0), counts: new Float32Array(0) };
    for (const [name, bad, pattern] of [
      ['not a number', { gist: { ...gist, keyScales: gist.keyScales.map(() => NaN) } }, /numbers that are none/],
      ['infinite', { recall: { ...recall, counts: recall.counts.map(() => Infinity) } }, /numbers that are none/],
      ['negative counts', { gist: { ...gist, counts: gist.counts.map(() => -1) } }, /counts below zero/],
      ['lines to fill the memory', { provenance: longLines }, /lines that no file has/],
      ['line 0', { provenance: { ...provenance, lines: provenance.lines.map(() => 0) } }, /lines that no file has/],
      ['no token', { tokens: 0 }, /out of proportion/],
      ['head sizes', { recall: { ...recall, headSize: 0, keys: new Int8Array(0) } }, /of another model/],
      [
        'slots of no size',
        {
          recall: { heads: 0, slots: 0xffffffff, headSize: gist.headSize, ...nothing },
          provenance: { slotStart: new Uint32Array(0), lines: new Uint32Array(0), weights: new Uint16Array(0) },
        },
        /out of proportion/,
      ],
    ] as const) {
      assert.match(await refusal(exportOf([memoryOf(bad)])), pattern, name);
    }
    const other = sampleMemory('b.py', 'x');
    const narrow = { ...other, recall: { ...recall, heads: 0, ...nothing, slots: 0 } };
    const empty = { slotStart: new Uint32Array(0), lines: new Uint32Array(0), weights: new Uint16Array(0) };
    assert.match(await refusal(exportOf([memoryOf(), { ...narrow, provenance: empty }])), /of another model/);
  });

  test('paths that lead out, or that some system reads otherwise', async () => {
    for (const path of [
      '../a',
      'a/../../b',
      '/etc/passwd',
      'a//b',
      'a/',
      './a',
      '',
      'C:/a',
      'a\\..\\b',
      'a\0b',
      'x'.repeat(5000),
    ]) {
      assert.equal(isPortablePath(path), false, path);
      assert.match(await refusal(exportOf([sampleMemory(path, 'x')])), /a file is damaged/, path);
    }
    for (const path of ['a', '.gitignore', 'a b/ü.md', 'a/..b', '日本/x', 'ab:c'])
      assert.equal(isPortablePath(path), true, path);
  });

  test('a length that the file does not have, or that no memory has, is not held', async () => {
    const head = headBytes();
    const long = Buffer.alloc(FRAME_HEADER_BYTES);
    Buffer.from(frame(FrameKind.fileMemory, 1, new Uint8Array(0)).buffer).copy(long);
    long.writeUInt32LE(200_000_000, 8);
    assert.match(await refusal(Buffer.concat([head, long])), /cut off/);
    long.writeUInt32LE(0xffffff00, 8);
    assert.match(await refusal(Buffer.concat([head, long])), /does not belong there/);
    const unknown = Buffer.from(frame(3, 1, new Uint8Array(100)).buffer);
    assert.match(await refusal(Buffer.concat([head, unknown])), /does not belong there/);
  });

  test('what is written in another way than an export is', async () => {
    const record = (json: string): Buffer => Buffer.from(frame(FrameKind.exportedFile, 1, Buffer.from(json)).buffer);
    const content = 'a'.repeat(32);
    const good = `{"path":"a","contentHash":"${'a'.repeat(64)}","parts":[{"firstLine":1,"content":"${content}"}]}`;
    for (const [json, pattern] of [
      [good.replace('{"path"', '{ "path"'), /not spelled/],
      [good.replace('"firstLine":1', '"firstLine":1,"more":2'), /not spelled/],
      [good.replace('"firstLine":1', '"firstLine":0'), /not what it should hold/],
      [good.replace(/"parts":.*/, '"parts":[]}'), /not what it should hold/],
      [good.replace(content, 'A'.repeat(32)), /not what it should hold/],
      ['null', /not what it should hold/],
      ['[', /not JSON/],
    ] as const) {
      assert.match(await refusal(Buffer.concat([headBytes(), record(json)])), pattern, json);
    }
  });

  function headBytes(): Uint8Array {
    return encodeHead({ model: { name: 'Fake', fingerprint: 'fake-1' }, settings: 'recall=4' });
  }

  /** As `writeExport` would, whatever is in the memories. */
  function exportOf(memories: readonly FileMemory[]): Uint8Array {
    const parts = [headBytes()];
    for (const it of memories) {
      const { path, contentHash } = it;
      const content = contentHash.slice(0, 32);
      parts.push(encodeFile({ path, contentHash, parts: [{ firstLine: 1, content }] }), encodeFileMemory(it));
    }
    const sha256 = createHash('sha256').update(Buffer.concat(parts)).digest('hex');
    parts.push(encodeEnd({ files: memories.length, memories: memories.length, sha256 }));
    return Buffer.concat(parts);
  }
});

function envelopesOf(bytes: Buffer): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const head = frameHead(bytes.subarray(at));
    assert.ok(head.ok);
    found.push(bytes.subarray(at, at + head.value.length));
    at += head.value.length;
  }
  return found;
}
