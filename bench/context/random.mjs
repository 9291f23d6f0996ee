// Numbers and choices that depend on a seed text alone.
import { createHash } from 'node:crypto';

/** Uniform numbers in [0,1) (mulberry32); equal seeds give equal rows of them. */
export function seeded(seed) {
  let state = createHash('sha256').update(seed).digest().readUInt32LE(0);
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export function pick(random, items) {
  return items[Math.floor(random() * items.length)];
}

/** `count` of the items, none twice, in random order. */
export function draw(random, items, count = items.length) {
  const left = [...items];
  for (let i = 0; i < count; i++) {
    const other = i + Math.floor(random() * (left.length - i));
    [left[i], left[other]] = [left[other], left[i]];
  }
  return left.slice(0, count);
}

/** Numbers of five digits, as text, none twice. */
export function numbers(random, count) {
  const found = new Set();
  while (found.size < count) found.add(String(10000 + Math.floor(random() * 90000)));
  return [...found];
}
