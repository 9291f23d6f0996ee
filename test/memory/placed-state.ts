/** Asserts that a folder's kept workspace state is what the memories in it make, at the places the store says. */
import assert from 'node:assert/strict';
import type { Engine, PackedSlots, StateSlots } from '../../src/engine/index.js';
import { keptState, loadState, membersOf, placesOf } from '../../src/memory/kept-state.js';
import { partsOf, type Store } from '../../src/memory/store/index.js';

export interface KeptParts {
  readonly state: StateSlots;
  readonly budget: number;
  /** In the order of the paths. */
  readonly gists: readonly PackedSlots[];
}

/**
 * Counts and provenance exactly; sums to `tolerance`, in parts of the largest sum of a group. Gives the state and its gists.
 */
export async function assertStateOfMemories(
  store: Store,
  model: string,
  tolerance: number,
): Promise<KeptParts | undefined> {
  const rows = store.ledger.all().filter(row => row.state === 'read');
  rows.sort((a, b) => (a.path < b.path ? -1 : 1));
  const keys = rows.flatMap(partsOf).map(({ key }) => key);
  const kept = keptState(store, model);
  if (!kept) {
    assert.equal(keys.length, 0, 'files were read, but there is no state');
    return undefined;
  }
  assert.deepEqual(membersOf(store, kept, model), [...keys].sort(), 'exactly the memories of read files are in it');
  const loaded = await loadState(store);
  assert(loaded?.ok);
  const state = loaded.value.slots;
  const { groups, slots, headSize } = state;
  const counts = new Float64Array(groups * slots);
  const makers = new Uint8Array(groups * slots);
  const [keySums, valueSums] = [new Float64Array(counts.length * headSize), new Float64Array(counts.length * headSize)];
  const gists = keys.map(key => {
    const memory = store.getMemory(key);
    const places = placesOf(store, key, kept);
    assert(memory?.ok && places);
    const { gist } = memory.value;
    assert.equal(places.length, groups * gist.slots);
    places.forEach((place, from) => {
      assert(place >>> 1 < slots);
      const to = Math.floor(from / gist.slots) * slots + (place >>> 1);
      counts[to]! += gist.counts[from]!;
      makers[to]! += place & 1;
      for (let i = 0; i < headSize; i++) {
        keySums[to * headSize + i]! += gist.keys[from * headSize + i]! * gist.keyScales[from]! * gist.counts[from]!;
        valueSums[to * headSize + i]! +=
          gist.values[from * headSize + i]! * gist.valueScales[from]! * gist.counts[from]!;
      }
    });
    return gist;
  });
  assert.deepEqual([...state.counts], [...counts], 'counts');
  assert.deepEqual([...state.created], [...makers], 'makers');
  for (const [rows, scales, sums] of [
    [state.keys, state.keyScales, keySums],
    [state.values, state.valueScales, valueSums],
  ] as const) {
    const most = sums.reduce((largest, sum) => Math.max(largest, Math.abs(sum)), 0);
    sums.forEach((sum, i) => {
      const cell = Math.floor(i / headSize);
      const actual = rows[i]! * scales[cell]! * state.counts[cell]!;
      assert(Math.abs(actual - sum) <= tolerance * most, `sum ${i} is ${actual}, not ${sum}`);
    });
  }
  counts.forEach((count, cell) => {
    if (count > 0) return;
    const rest = [state.keyRadii, state.valueRadii, state.keyRadiusSums, state.valueRadiusSums, state.keyScales];
    assert(rest.every(numbers => numbers[cell] === 0) && state.created[cell] === 0, `slot ${cell} is free`);
  });
  return { state, budget: kept.budget, gists };
}

/** The state composed of the same gists in the order of their paths. */
export async function composedOf({ gists, budget }: KeptParts, engine: Engine): Promise<StateSlots> {
  const incoming = gists.reduce((sum, { slots }) => sum + slots, 0);
  return (await engine.compose(gists, { budget, incoming })).state;
}
