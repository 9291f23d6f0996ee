/** Where the slots of gists are in a composed state (slots.ts, `Places`), from what the folds say. Pure. */
import type { Places } from './slots.js';
import type { Radii, Slots } from './state.js';

/**
 * Places of what one fold took in, [G,N]; `slotOf` as the fold gives it, `before` slots were there, `after` are the radii of
 * all. A new slot has the radii of the incoming one that made it; of those with its radii the first counts as its maker.
 */
export function placesOf(batch: Slots, slotOf: Uint32Array, before: number, after: Radii): Places {
  const places = Uint32Array.from(slotOf, slot => slot * 2);
  for (let group = 0; group < batch.groups; group++) {
    const made = new Set<number>();
    for (let cell = group * batch.slots; cell < (group + 1) * batch.slots; cell++) {
      const slot = slotOf[cell]!;
      if (slot < before || made.has(slot)) continue;
      const into = group * after.slots + slot;
      if (batch.keyRadius[cell] !== after.keyRadius[into] || batch.valueRadius[cell] !== after.valueRadius[into])
        continue;
      made.add(slot);
      places[cell]! += 1;
    }
  }
  return places;
}

/** Places fold by fold, until they are asked for gist by gist. */
export class GistPlaces {
  private readonly folds: { readonly slots: number; readonly places: Places }[] = [];
  private readonly sizes: number[] = [];

  constructor(private readonly groups: number) {}

  /** The next gist has that many slots. */
  gist(slots: number): void {
    this.sizes.push(slots);
  }

  /** The next so many slots of the gists, in their order, went to these places [G,slots]. */
  fold(slots: number, places: Places): void {
    this.folds.push({ slots, places });
  }

  ofGists(): Places[] {
    let at = 0;
    let from = 0;
    return this.sizes.map(size => {
      const own = new Uint32Array(this.groups * size);
      for (let done = 0; done < size;) {
        const { slots, places } = this.folds[at]!;
        const n = Math.min(size - done, slots - from);
        for (let group = 0; group < this.groups; group++) {
          const start = group * slots + from;
          own.set(places.subarray(start, start + n), group * size + done);
        }
        done += n;
        from += n;
        if (from === slots) [at, from] = [at + 1, 0];
      }
      return own;
    });
  }
}
