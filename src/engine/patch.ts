/**
 * Gists taken out of a composed state and put into it (memory.md, Composing, and forgetting exactly). What leaves is
 * subtracted; what comes takes free slots where it is novel and merges elsewhere, by the fold graph. Slots that neither
 * touches keep their bits. Never composes: what was merged stays merged.
 */
import { throwIfCancelled } from '../base/index.js';
import { BATCH } from './compress.js';
import { Composer } from './compose.js';
import type { CallOptions, StateChange } from './engine.js';
import { OpenState } from './open-state.js';
import { unpackSlots } from './packing.js';
import { GistPlaces, placesOf } from './places.js';
import type { ComposedState, Places, StateSlots } from './slots.js';
import type { Folder, Slots } from './state.js';
import { joinSlots, pickGroups, sliceSlots } from './state.js';

/** The state after the change, and the places of what came. Throws `stale` where what shall leave is not in the state. */
export async function patchState(
  folder: Folder,
  state: StateSlots,
  { remove, add, budget }: StateChange,
  { signal, giveWay }: CallOptions = {},
): Promise<ComposedState> {
  const open = new OpenState(state);
  for (const { gist, places } of remove) open.subtract(unpackSlots(gist), places);
  open.settle();
  const places = new GistPlaces(state.groups);
  for (const gist of add) places.gist(gist.slots);
  const coming = add.filter(gist => gist.slots > 0).map(unpackSlots);
  const total = coming.reduce((sum, { slots }) => sum + slots, 0);
  const used = open.used();
  if (total > 0 && Math.max(...used) === 0) {
    const composer = new Composer(folder, state, budget, total);
    for (const gist of add) await composer.add(gist);
    return composer.finish();
  }
  open.grow(Math.min(budget, Math.max(...used) + total));
  const free = used.map(own => Math.min(open.slots - own, total));
  const all = coming.length > 0 ? joinSlots(coming) : undefined;
  for (let from = 0; all && from < total; from += BATCH) {
    await giveWay?.();
    throwIfCancelled(signal);
    const batch = sliceSlots(all, from, Math.min(total, from + BATCH));
    // Free slots are taken evenly, like a growing state's.
    const due = free.map(n => Math.round((n * (from + batch.slots)) / total) - Math.round((n * from) / total));
    const chosen = await choose(folder, open, batch, due);
    open.add(batch, chosen);
    places.fold(batch.slots, chosen);
  }
  open.settle();
  return { state: open.close(), places: places.ofGists() };
}

/** Places of a batch of which `novel` [G] become slots. Groups that take the same number are folded together. */
async function choose(folder: Folder, open: OpenState, batch: Slots, novel: readonly number[]): Promise<Places> {
  const places = new Uint32Array(batch.groups * batch.slots);
  const { state, standIn, free } = open.forFolding();
  const every = novel.map((_, group) => group);
  for (const n of new Set(novel)) {
    const wanted = every.filter(group => novel[group] === n);
    const groups = folder.foldsAllGroups ? every : wanted;
    const incoming = pickGroups(batch, groups);
    const { state: after, slotOf } = await folder.choose(pickGroups(state, groups), incoming, n);
    const chosen = placesOf(incoming, slotOf, state.slots, after);
    for (const group of wanted) {
      const start = groups.indexOf(group) * batch.slots;
      for (let row = 0; row < batch.slots; row++) {
        const place = chosen[start + row]!;
        const slot = place >>> 1;
        const own = slot < state.slots ? standIn(group, slot) : free[group]![slot - state.slots]!;
        places[group * batch.slots + row] = own * 2 + (place & 1);
      }
    }
  }
  return places;
}
