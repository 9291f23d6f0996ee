/** Bytes of the store's values: round trips, refusal of damaged bytes, provenance. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as fc from 'fast-check';
import {
  decodeFileMemory,
  encodeFileMemory,
  fileMemoryBytes,
  fileMemoryKey,
  pairsOfSlot,
  provenanceOf,
  gistKeyOf,
  isWhole,
  keysOf,
  slotsOf,
  storeFolder,
  tokensOf,
} from '../../src/memory/store/index.js';
import { decodeGist, decodeRecall } from '../../src/memory/store/file-memory.js';
import { FrameKind, frame, unframe } from '../../src/memory/store/frame.js';
import { decodeProvenance, encodeProvenance, provenanceLength } from '../../src/memory/store/provenance-bytes.js';
import { decodeLedgerRow, encodeLedgerRow, ledgerKey } from '../../src/memory/store/ledger-row.js';
import { hashOf, keyOf, randomNumbers, sampleMemory, sampleRow } from './store-samples.js';

suite('store: provenance', () => {
  test('counts tokens of a slot by line, without prefix and sinks', () => {
    // Tokens:   prefix, sink, line 1, line 1, line 2, line 2, line 3
    const lineOfToken = Uint32Array.from([0, 1, 1, 1, 2, 2, 3]);
    const none = 0xffffffff;
    const slotOfToken = Uint32Array.from([none, none, 0, 0, 0, 2, 2, 0, none, 2, 2, 2, 1, 1]);
    const recall = {
      heads: 2,
      slots: 3,
      headSize: 1,
      keys: new Int8Array(6),
      scales: new Float32Array(6),
      counts: new Float32Array(6),
    };
    const provenance = provenanceOf({ recall, lineOfToken, slotOfToken });
    // Counted by hand: head 0 has slot 0 = line 1 twice, line 2 once; slot 1 nothing; slot 2 = lines 2 and 3. In head 1 the
    // prefix token has slot 0 but line 0, so slot 0 is empty; slot 1 = lines 2 and 3; slot 2 = line 1 twice, line 2 once.
    assert.deepEqual([...provenance.slotStart], [0, 2, 2, 4, 4, 4, 6, 8]);
    assert.deepEqual([...provenance.lines], [1, 2, 2, 3, 2, 3, 1, 2]);
    assert.deepEqual([...provenance.weights], [2, 1, 1, 1, 1, 1, 2, 1]);
    assert.deepEqual([...pairsOfSlot(provenance, 3, 1, 2).lines], [1, 2]);
    assert.deepEqual([...pairsOfSlot(provenance, 3, 0, 1).lines], []);
  });

  test('more tokens than 16 bits hold stand as 65,535', () => {
    const tokens = 70_000;
    const recall = {
      heads: 1,
      slots: 1,
      headSize: 1,
      keys: new Int8Array(1),
      scales: new Float32Array(1),
      counts: new Float32Array(1),
    };
    const provenance = provenanceOf({
      recall,
      lineOfToken: new Uint32Array(tokens).fill(9),
      slotOfToken: new Uint32Array(tokens),
    });
    assert.deepEqual([[...provenance.lines], [...provenance.weights]], [[9], [65_535]]);
  });

  test('weights of all slots sum to the tokens that have a line and a slot', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5 }),
        fc.array(fc.tuple(fc.nat(6), fc.nat(5)), { maxLength: 60 }),
        (slots, tokens) => {
          const slotOfToken = Uint32Array.from(tokens, ([, slot]) => (slot >= slots ? 0xffffffff : slot));
          const lineOfToken = Uint32Array.from(tokens, ([line]) => line);
          const recall = {
            heads: 1,
            slots,
            headSize: 1,
            keys: new Int8Array(slots),
            scales: new Float32Array(slots),
            counts: new Float32Array(slots),
          };
          const provenance = provenanceOf({ recall, lineOfToken, slotOfToken });
          const seen = new Map<string, number>();
          for (let slot = 0; slot < slots; slot++) {
            const pairs = pairsOfSlot(provenance, slots, 0, slot);
            pairs.lines.forEach((line, at) => seen.set(`${slot}:${line}`, pairs.weights[at]!));
          }
          const expected = new Map<string, number>();
          tokens.forEach(([line, slot]) => {
            if (line > 0 && slot < slots) expected.set(`${slot}:${line}`, (expected.get(`${slot}:${line}`) ?? 0) + 1);
          });
          assert.deepEqual([...seen].sort(), [...expected].sort());
        },
      ),
      { seed: 20, numRuns: 200 },
    );
  });
});

suite('store: file memory', () => {
  test('decodes to what was encoded, from aligned and unaligned bytes', () => {
    for (const tokens of [4, 37, 100]) {
      const memory = sampleMemory('src/größe 🙂.ts', 'text', tokens);
      const bytes = encodeFileMemory(memory);
      assert.deepEqual(decodeFileMemory(bytes), { ok: true, value: memory });
      const shifted = new Uint8Array(bytes.byteLength + 3);
      shifted.set(bytes, 3);
      assert.deepEqual(decodeFileMemory(shifted.subarray(3)), { ok: true, value: memory });
    }
  });

  test('arrays are views on aligned bytes', () => {
    const bytes = encodeFileMemory(sampleMemory('a', 'b'));
    const memory = decodeFileMemory(bytes);
    assert.ok(memory.ok);
    assert.equal(memory.value.gist.keys.buffer, bytes.buffer);
  });

  test('an empty reading: no slots, no tokens', () => {
    const full = sampleMemory('a', 'b');
    const none = { int8: new Int8Array(0), float32: new Float32Array(0) };
    const memory = {
      ...full,
      tokens: 0,
      gist: {
        ...full.gist,
        slots: 0,
        keys: none.int8,
        values: none.int8,
        keyScales: none.float32,
        valueScales: none.float32,
        counts: none.float32,
        keyRadii: none.float32,
        valueRadii: none.float32,
      },
      recall: { ...full.recall, slots: 0, keys: none.int8, scales: none.float32, counts: none.float32 },
      provenance: { slotStart: new Uint32Array(2), lines: new Uint32Array(0), weights: new Uint16Array(0) },
    };
    assert.deepEqual(decodeFileMemory(encodeFileMemory(memory)), { ok: true, value: memory });
  });

  test('arrays that contradict their shape are refused at once', () => {
    const memory = sampleMemory('a', 'b');
    assert.throws(() => encodeFileMemory({ ...memory, gist: { ...memory.gist, slots: 6 } }), RangeError);
    assert.throws(() => encodeFileMemory({ ...memory, contentHash: 'abc' }), RangeError);
  });

  test('truncation at every 97th byte is refused', () => {
    const bytes = encodeFileMemory(sampleMemory('src/a.ts', 'text', 400));
    for (let length = 0; length < bytes.byteLength; length += 97) {
      const decoded = decodeFileMemory(bytes.slice(0, length));
      assert.equal(decoded.ok, false, `${length} bytes`);
    }
    assert.equal(decodeFileMemory(Buffer.concat([bytes, Buffer.alloc(1)])).ok, false);
  });

  test('2,000 bit flips are refused', () => {
    const bytes = encodeFileMemory(sampleMemory('src/a.ts', 'text', 400));
    const random = randomNumbers(97);
    for (let round = 0; round < 2000; round++) {
      const bit = Math.floor(random() * bytes.byteLength * 8);
      const flipped = bytes.slice();
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      assert.equal(decodeFileMemory(flipped).ok, false, `bit ${bit}`);
    }
  });

  test('provenance out of order is refused, when it is written and when it is read', () => {
    const memory = sampleMemory('a', 'b');
    const slotStart = memory.provenance.slotStart.slice();
    slotStart[1] = 4_000_000_000;
    const wrong = { ...memory, provenance: { ...memory.provenance, slotStart } };
    assert.throws(() => encodeFileMemory(wrong), /provenance is out of order/);
    // One slot with two runs where the header has one; a number without an end; bytes that are left over; too few.
    for (const [bytes, heads, slots, runs] of [
      [[2, 1, 2, 1, 2], 1, 1, 1],
      [[1, 1, 0x80], 1, 1, 1],
      [[1, 1, 2, 0], 1, 1, 1],
      [[1, 1], 1, 1, 1],
      [[], 0xffffffff, 0, 0],
    ] as const) {
      assert.equal(decodeProvenance(Uint8Array.from(bytes), heads, slots, runs).ok, false, bytes.join());
    }
  });

  test('provenance as the table in provenance-bytes.ts says, and back', () => {
    // Head 0: slot 0 has line 3 with 2 tokens and lines 300 to 304 with 70; slot 1 nothing.
    const provenance = {
      slotStart: Uint32Array.from([0, 2, 2]),
      lines: Uint32Array.from([3, 300]),
      weights: Uint16Array.from([2, 70]),
      spans: Uint16Array.from([1, 5]),
    };
    // 297 = 2·128 + 41; 2·70 + 1 = 141 = 1·128 + 13.
    const bytes = [2, 3, 4, 41 + 128, 2, 13 + 128, 1, 5, 0];
    assert.deepEqual([...encodeProvenance(provenance, 2)], bytes);
    assert.equal(provenanceLength(provenance, 2), bytes.length);
    assert.deepEqual(decodeProvenance(Uint8Array.from(bytes), 1, 2, 2), { ok: true, value: provenance });
    const most = {
      slotStart: Uint32Array.from([0, 1]),
      lines: Uint32Array.of(0xffffffff),
      weights: Uint16Array.of(65_535),
    };
    assert.deepEqual(decodeProvenance(encodeProvenance(most, 1), 1, 1, 1), { ok: true, value: most });
  });

  test('recall and gist are each checked alone', () => {
    const memory = sampleMemory('src/a.ts', 'text', 400);
    const { gist, ...withoutGist } = memory;
    const { recall, provenance, ...withGist } = memory;
    const bytes = encodeFileMemory(memory);
    assert.equal(fileMemoryBytes(memory), bytes.byteLength);
    assert.deepEqual(decodeRecall(bytes), { ok: true, value: { ...withoutGist, gist: { slots: gist.slots } } });
    assert.deepEqual(decodeGist(bytes), { ok: true, value: withGist });
    // The gist is the last of it, as the table says; the bytes before it but after the path are recall's.
    const gistBytes = gist.keys.length * 2 + gist.counts.length * 20;
    const [inGist, inRecall, inHead] = [bytes.length - gistBytes, bytes.length - gistBytes - 100, 40].map(at => {
      const damaged = bytes.slice();
      damaged[at]! ^= 1;
      return [decodeRecall(damaged).ok, decodeGist(damaged).ok, decodeFileMemory(damaged).ok];
    });
    assert.deepEqual(
      { inGist, inRecall, inHead },
      {
        inGist: [true, false, false],
        inRecall: [false, true, false],
        inHead: [false, false, false],
      },
    );
    assert.ok(recall.slots > 0 && provenance.lines.length > 0);
  });

  test('a memory that a version before wrote is the same memory', async () => {
    // Written by the code of layout 1 from the same sample.
    const bytes = await readFile(resolve('test/fixtures/store/file-memory-layout-1.bin'));
    const memory = sampleMemory('src/größe 🙂.ts', 'text', 37);
    for (const decode of [decodeFileMemory, decodeRecall, decodeGist]) {
      assert.deepEqual(decode(bytes), { ok: true, value: memory });
    }
    const damaged = Buffer.from(bytes);
    damaged[900]! ^= 1;
    assert.deepEqual(decodeRecall(damaged), { ok: false, reason: 'checksum does not match' });
  });

  test('each of model, settings, path and content changes the key', () => {
    const identity = { model: 'm', settings: 's', path: 'p', contentHash: hashOf('c') };
    const keys = new Set([
      fileMemoryKey(identity),
      fileMemoryKey({ ...identity, model: 'n' }),
      fileMemoryKey({ ...identity, settings: 't' }),
      fileMemoryKey({ ...identity, path: 'q' }),
      fileMemoryKey({ ...identity, contentHash: hashOf('d') }),
    ]);
    assert.equal(keys.size, 5);
    assert.match(keyOf(sampleMemory('a', 'b')), /^[0-9a-f]{32}\.[0-9a-f]{32}\.[0-9a-f]{16}\.[0-9a-f]{16}$/);
  });
});

suite('store: frames and rows', () => {
  test('a frame tells its kind and version', () => {
    const bytes = frame(FrameKind.blob, 3, Buffer.from('abc'));
    // Bytes 0 to 15 as the table in frame.ts says: magic, version 1, kind 3, length 3, layout 3.
    assert.equal(Buffer.from(bytes.subarray(0, 16)).toString('hex'), '4c564756010003000300000003000000');
    assert.equal(
      Buffer.from(bytes.subarray(16, 32)).toString('hex'),
      hashOf('LVGV\x01\x00\x03\x00\x03\x00\x00\x00\x03\x00\x00\x00abc').slice(0, 32),
    );
    assert.deepEqual(unframe(FrameKind.lease, 3, bytes), { ok: false, reason: 'kind 3, not 5' });
    assert.deepEqual(unframe(FrameKind.blob, 4, bytes), { ok: false, reason: 'layout version 3, not 4' });
  });

  test('rows decode to what was encoded', () => {
    const row = sampleRow('a/b\n"🙂', {
      reason: 'because',
      readAt: 7,
      parts: [
        { key: 'k', firstLine: 1, tokens: 5, slots: 2 },
        { key: 'l', firstLine: 4, tokens: 6, slots: 3 },
      ],
      gist: 'g',
    });
    assert.deepEqual(decodeLedgerRow(encodeLedgerRow(row)), { ok: true, value: row });
    const wrong = frame(FrameKind.ledgerRow, 1, Buffer.from('{"path":"a","state":"done"}'));
    assert.deepEqual(decodeLedgerRow(wrong), { ok: false, reason: 'not a ledger row' });
    const noKey = frame(FrameKind.ledgerRow, 2, Buffer.from(JSON.stringify({ ...row, parts: [{ firstLine: 1 }] })));
    assert.deepEqual(decodeLedgerRow(noKey), { ok: false, reason: 'not a ledger row' });
  });

  test('a row of the former layout stands on one part', () => {
    const row = sampleRow('a', { readAt: 7 });
    const former = (more: object): Uint8Array =>
      frame(FrameKind.ledgerRow, 1, Buffer.from(JSON.stringify({ ...row, ...more })));
    assert.deepEqual(decodeLedgerRow(former({ memoryKey: 'k', tokens: 5, slots: 2 })), {
      ok: true,
      value: { ...row, parts: [{ key: 'k', firstLine: 1, tokens: 5, slots: 2 }] },
    });
    assert.deepEqual(decodeLedgerRow(former({})), { ok: true, value: row });
  });

  test('what a row says of its file, by its parts', () => {
    const parts = [
      { key: 'k', firstLine: 1, tokens: 5, slots: 2 },
      { key: 'l', firstLine: 4, tokens: 6, slots: 3 },
    ];
    const whole = sampleRow('a', { parts, gist: 'g' });
    assert.deepEqual([isWhole(whole), tokensOf(whole), slotsOf(whole)], [true, 11, 5]);
    assert.deepEqual([keysOf(whole), gistKeyOf(whole)], [['k', 'l', 'g'], 'g']);
    assert.equal(gistKeyOf(sampleRow('a', { parts: [parts[0]!] })), 'k');
    const begun = sampleRow('a', { parts: [parts[0]!], state: 'reading' });
    assert.deepEqual([isWhole(begun), keysOf(begun), gistKeyOf(begun)], [false, ['k'], undefined]);
    assert.equal(isWhole(sampleRow('a')), false);
  });

  test('long paths have keys that LMDB takes, and stay apart', () => {
    const [a, b] = [ledgerKey('é'.repeat(3000)), ledgerKey(`${'é'.repeat(2999)}e`)];
    assert.equal(a.byteLength, 1024);
    assert.notDeepEqual(a, b);
    assert.deepEqual(ledgerKey('a/ü'), Buffer.from('a/ü'));
  });

  test('the folder of a workspace is named by hash and slug', () => {
    // printf '/home/me/My Project' | sha256sum
    const hash = hashOf('/home/me/My Project').slice(0, 16);
    assert.equal(
      storeFolder('/data', '/home/me/My Project/').replaceAll('\\', '/'),
      `/data/workspaces/${hash}-my-project`,
    );
    assert.match(storeFolder('/data', '/').replaceAll('\\', '/'), /^\/data\/workspaces\/[0-9a-f]{16}$/);
  });
});
