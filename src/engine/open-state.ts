/**
 * A composed state as plain sums that slots are added to and subtracted from. Counts are exact (up to 2^24 tokens a slot);
 * a slot whose count comes to 0 is cleared, so that no rounding is left of what was in it. Never runs a graph.
 */
import { LongviewError } from '../base/index.js';
import { packMean, unpackSlots } from './packing.js';
import type { Places, StateSlots } from './slots.js';
import type { Slots } from './state.js';
import { emptySlots, joinSlots } from './state.js';

export class OpenState {
  private sums: Slots;
  private keyRadiusSums: Float32Array;
  private valueRadiusSums: Float32Array;
  private created: Uint8Array;
  private touched: Uint8Array;

  constructor(private packed: StateSlots) {
    const { counts, keyRadii, valueRadii } = packed;
    this.sums = {
      ...unpackSlots(packed),
      ...{ count: counts.slice(), keyRadius: keyRadii.slice(), valueRadius: valueRadii.slice() },
    };
    this.keyRadiusSums = packed.keyRadiusSums.slice();
    this.valueRadiusSums = packed.valueRadiusSums.slice();
    this.created = packed.created.slice();
    this.touched = new Uint8Array(counts.length);
  }

  get slots(): number {
    return this.sums.slots;
  }

  /** Slots in use, of each group. */
  used(): number[] {
    const { groups, slots, count } = this.sums;
    return Array.from({ length: groups }, (_, group) => {
      let used = 0;
      for (let cell = group * slots; cell < (group + 1) * slots; cell++) if (count[cell]! > 0) used++;
      return used;
    });
  }

  add(incoming: Slots, places: Places): void {
    this.move(incoming, places, 1);
  }

  /** Throws `stale` where that was not in the state. */
  subtract(outgoing: Slots, places: Places): void {
    this.move(outgoing, places, -1);
  }

  /** To be called after subtracting and after adding: frees what nothing is in, and gives slots without maker their radii. */
  settle(): void {
    const { headSize, count, keySum, valueSum, keyRadius, valueRadius } = this.sums;
    for (let cell = 0; cell < count.length; cell++) {
      if (this.touched[cell] === 0) continue;
      const tokens = count[cell]!;
      if (tokens < 0) throw notThere();
      if (tokens === 0) {
        keySum.fill(0, cell * headSize, (cell + 1) * headSize);
        valueSum.fill(0, cell * headSize, (cell + 1) * headSize);
        for (const numbers of [keyRadius, valueRadius, this.keyRadiusSums, this.valueRadiusSums]) numbers[cell] = 0;
        this.created[cell] = 0;
      } else if (this.created[cell] === 0) {
        keyRadius[cell] = Math.max(0, this.keyRadiusSums[cell]! / tokens);
        valueRadius[cell] = Math.max(0, this.valueRadiusSums[cell]! / tokens);
      }
    }
  }

  /** At least so many slots; the new ones are free. */
  grow(slots: number): void {
    const { groups, headSize } = this.sums;
    const more = slots - this.sums.slots;
    if (more <= 0) return;
    const none = emptyOf(groups, more, headSize);
    const widen = <T extends Float32Array | Uint8Array | Int16Array>(old: T, wide: T): T => {
      const [from, to] = [old.length / groups, wide.length / groups];
      for (let group = 0; group < groups; group++) {
        wide.set(old.subarray(group * from, (group + 1) * from), group * to);
      }
      return wide;
    };
    const cells = groups * slots;
    const floats = (old: Float32Array): Float32Array => widen(old, new Float32Array(cells));
    const bytes = (old: Uint8Array): Uint8Array => widen(old, new Uint8Array(cells));
    const rows = (old: Int16Array): Int16Array => widen(old, new Int16Array(cells * headSize));
    this.sums = joinSlots([this.sums, none]);
    [this.created, this.touched] = [bytes(this.created), bytes(this.touched)];
    this.keyRadiusSums = floats(this.keyRadiusSums);
    this.valueRadiusSums = floats(this.valueRadiusSums);
    const { keys, values, keyScales, valueScales } = this.packed;
    this.packed = {
      ...this.packed,
      ...{ keys: rows(keys), values: rows(values) },
      ...{ keyScales: floats(keyScales), valueScales: floats(valueScales) },
    };
  }

  /**
   * The state as the fold graph may see it: in each free slot lies a copy of the key of a slot in use, which `standIn` names
   * for it, so that a free one is nobody's best but for that slot's sake. `free` has the free slots of each group. Some slot
   * of each group is in use.
   */
  forFolding(): { state: Slots; standIn: (group: number, slot: number) => number; free: number[][] } {
    const { groups, slots, headSize, count } = this.sums;
    const keySum = this.sums.keySum.slice();
    const first: number[] = [];
    const free: number[][] = [];
    for (let group = 0; group < groups; group++) {
      const own = count.subarray(group * slots, (group + 1) * slots);
      const live = own.findIndex(tokens => tokens > 0);
      const key = this.sums.keySum.subarray((group * slots + live) * headSize, (group * slots + live + 1) * headSize);
      const unused: number[] = [];
      own.forEach((tokens, slot) => {
        if (tokens > 0) return;
        unused.push(slot);
        keySum.set(key, (group * slots + slot) * headSize);
      });
      first.push(live);
      free.push(unused);
    }
    const standIn = (group: number, slot: number): number => (count[group * slots + slot]! > 0 ? slot : first[group]!);
    return { state: { ...this.sums, keySum }, standIn, free };
  }

  /** Packed again; rows that nothing touched as they were. */
  close(): StateSlots {
    const { groups, slots, headSize, count, keySum, valueSum, keyRadius, valueRadius } = this.sums;
    const [keys, values] = [this.packed.keys.slice(), this.packed.values.slice()];
    const [keyScales, valueScales] = [this.packed.keyScales.slice(), this.packed.valueScales.slice()];
    this.touched.forEach((touched, cell) => {
      if (touched === 0) return;
      keyScales[cell] = packMean(keySum, count[cell]!, cell, headSize, keys);
      valueScales[cell] = packMean(valueSum, count[cell]!, cell, headSize, values);
    });
    return {
      ...{ groups, slots, headSize, keys, keyScales, values, valueScales },
      ...{ counts: count, keyRadii: keyRadius, valueRadii: valueRadius },
      ...{ keyRadiusSums: this.keyRadiusSums, valueRadiusSums: this.valueRadiusSums, created: this.created },
    };
  }

  private move(moved: Slots, places: Places, sign: 1 | -1): void {
    const { groups, slots, headSize, count, keySum, valueSum } = this.sums;
    if (places.length !== groups * moved.slots) throw notThere();
    places.forEach((place, from) => {
      const slot = place >>> 1;
      if (slot >= slots) throw notThere();
      const to = Math.floor(from / moved.slots) * slots + slot;
      const tokens = moved.count[from]!;
      for (let i = 0; i < headSize; i++) {
        keySum[to * headSize + i]! += sign * moved.keySum[from * headSize + i]!;
        valueSum[to * headSize + i]! += sign * moved.valueSum[from * headSize + i]!;
      }
      count[to]! += sign * tokens;
      this.keyRadiusSums[to]! += sign * tokens * moved.keyRadius[from]!;
      this.valueRadiusSums[to]! += sign * tokens * moved.valueRadius[from]!;
      this.touched[to] = 1;
      if ((place & 1) === 0) return;
      this.created[to] = sign > 0 ? 1 : 0;
      if (sign < 0) return;
      this.sums.keyRadius[to] = moved.keyRadius[from]!;
      this.sums.valueRadius[to] = moved.valueRadius[from]!;
    });
  }
}

function emptyOf(groups: number, slots: number, headSize: number): Slots {
  const cells = groups * slots;
  return {
    ...emptySlots(groups, headSize),
    slots,
    ...{ keySum: new Float32Array(cells * headSize), valueSum: new Float32Array(cells * headSize) },
    ...{ count: new Float32Array(cells), keyRadius: new Float32Array(cells), valueRadius: new Float32Array(cells) },
  };
}

function notThere(): LongviewError {
  return new LongviewError('stale', 'The state does not hold what shall leave it; compose it again.');
}
