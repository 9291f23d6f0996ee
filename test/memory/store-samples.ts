/** Made-up memories and rows for the store's tests: small, seeded, every array filled. */
import { createHash } from 'node:crypto';
import type { FileMemory, FilePart, LedgerRow } from '../../src/memory/store/index.js';
import { fileMemoryKey, provenanceOf } from '../../src/memory/store/index.js';

export const MODEL = 'model-fingerprint';
export const SETTINGS = 'ratio=4';

/** Mulberry32: the same numbers on every machine. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A memory whose numbers depend on path, content and sizes only. Odd sizes on purpose: sections need padding. */
export function sampleMemory(path: string, content: string, tokens = 37): FileMemory {
  const random = randomNumbers(parseInt(hashOf(path + content).slice(0, 8), 16));
  const int8 = (length: number): Int8Array => Int8Array.from({ length }, () => Math.floor(random() * 256) - 128);
  const float32 = (length: number): Float32Array => Float32Array.from({ length }, () => random());
  const [groups, slots, headSize, heads] = [3, 5, 7, 2];
  const recallSlots = Math.max(1, Math.floor(tokens / 4));
  const recall = {
    heads,
    slots: recallSlots,
    headSize,
    keys: int8(heads * recallSlots * headSize),
    scales: float32(heads * recallSlots),
    counts: float32(heads * recallSlots),
  };
  return {
    tokens,
    path,
    contentHash: hashOf(content),
    gist: {
      groups,
      slots,
      headSize,
      keys: int8(groups * slots * headSize),
      keyScales: float32(groups * slots),
      values: int8(groups * slots * headSize),
      valueScales: float32(groups * slots),
      counts: float32(groups * slots),
      keyRadii: float32(groups * slots),
      valueRadii: float32(groups * slots),
    },
    recall,
    provenance: provenanceOf({
      recall,
      lineOfToken: Uint32Array.from({ length: tokens }, (_, token) => (token < 3 ? 0 : 1 + Math.floor(token / 6))),
      slotOfToken: Uint32Array.from({ length: heads * tokens }, (_, at) =>
        at % tokens < 4 ? 0xffffffff : Math.floor(random() * recallSlots),
      ),
    }),
  };
}

export function keyOf(memory: FileMemory, model = MODEL, settings = SETTINGS): string {
  return fileMemoryKey({ model, settings, path: memory.path, contentHash: memory.contentHash });
}

/** A part of a row that stands on this memory alone. */
export function partOf(memory: FileMemory): FilePart {
  return { key: keyOf(memory), firstLine: 1, tokens: memory.tokens, slots: memory.recall.slots };
}

export function sampleRow(path: string, more: Partial<LedgerRow> = {}): LedgerRow {
  return { path, size: 12, mtimeMs: 1_700_000_000_000.5, contentHash: hashOf(path), state: 'read', ...more };
}
