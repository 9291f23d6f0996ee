/** Recall slots of a text that was read, merged further by the rule that made them (memory.md). Never reads a text. */
import { throwIfCancelled } from '../base/index.js';
import { RecallMerger } from './compress.js';
import type { CallOptions } from './engine.js';
import { packRecall, unpackRecall } from './packing.js';
import type { CoarseRecall, RecallSlots } from './slots.js';
import type { Folder } from './state.js';
import { sliceKeySlots } from './state.js';

/** Incoming slots of one fold: a chunk of the paper. */
const BATCH = 256;

/** Every `slotsPerSlot` slots become one; what it gives depends on the slots and that number alone. */
export async function coarsenRecall(
  folder: Folder,
  slots: RecallSlots,
  slotsPerSlot: number,
  options: CallOptions = {},
): Promise<CoarseRecall> {
  const fine = unpackRecall(slots);
  const merger = new RecallMerger(folder, slots.heads, slots.headSize, slotsPerSlot);
  for (let from = 0; from < slots.slots; from += BATCH) {
    await options.giveWay?.();
    throwIfCancelled(options.signal);
    await merger.add(sliceKeySlots(fine, from, Math.min(slots.slots, from + BATCH)));
  }
  return { recall: packRecall(merger.slots), slotOf: merger.slotOfToken() };
}
