/** The arrays of a gist and of recall slots, in the order in which every layout of a file memory has them. */
import type { PackedSlots, RecallSlots } from '../../engine/index.js';
import type { SectionReader } from './sections.js';

export type GistShape = Pick<PackedSlots, 'groups' | 'slots' | 'headSize'>;
export type RecallShape = Pick<RecallSlots, 'heads' | 'slots' | 'headSize'>;

/** Bytes of each array. */
export function gistLengths({ groups, slots, headSize }: GistShape): number[] {
  const cells = groups * slots;
  return [cells * headSize, cells * 4, cells * headSize, cells * 4, cells * 4, cells * 4, cells * 4];
}

export function gistArrays(gist: PackedSlots): ArrayBufferView[] {
  const { keys, keyScales, values, valueScales, counts, keyRadii, valueRadii } = gist;
  return [keys, keyScales, values, valueScales, counts, keyRadii, valueRadii];
}

export function readGist({ groups, slots, headSize }: GistShape, from: SectionReader): PackedSlots {
  return {
    groups,
    slots,
    headSize,
    keys: from.int8(),
    keyScales: from.float32(),
    values: from.int8(),
    valueScales: from.float32(),
    counts: from.float32(),
    keyRadii: from.float32(),
    valueRadii: from.float32(),
  };
}

/** Bytes of each array. */
export function recallLengths({ heads, slots, headSize }: RecallShape): number[] {
  const cells = heads * slots;
  return [cells * headSize, cells * 4, cells * 4];
}

export function recallArrays({ keys, scales, counts }: RecallSlots): ArrayBufferView[] {
  return [keys, scales, counts];
}

export function readRecall({ heads, slots, headSize }: RecallShape, from: SectionReader): RecallSlots {
  return { heads, slots, headSize, keys: from.int8(), scales: from.float32(), counts: from.float32() };
}
