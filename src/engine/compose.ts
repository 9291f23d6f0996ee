/** Gists → one state by KVM's rule (memory.md, Composing), and where each of their slots went. Never reads files. */
import { Compressor } from './compress.js';
import { packFinely, unpackSlots } from './packing.js';
import { GistPlaces, placesOf } from './places.js';
import type { ComposedState, PackedSlots } from './slots.js';
import type { Folder, Slots } from './state.js';
import { emptySlots } from './state.js';

export class Composer {
  private readonly compressor: Compressor;
  private readonly places: GistPlaces;
  private readonly target: number;
  /** float64 [G,target]. */
  private readonly keyRadiusSums: Float64Array;
  private readonly valueRadiusSums: Float64Array;

  /** `incoming` slots will be added in all; the state gets `budget` of them at most. */
  constructor(
    folder: Folder,
    private readonly shape: { readonly groups: number; readonly headSize: number },
    budget: number,
    incoming: number,
  ) {
    this.target = Math.min(budget, incoming);
    this.places = new GistPlaces(shape.groups);
    this.keyRadiusSums = new Float64Array(shape.groups * this.target);
    this.valueRadiusSums = new Float64Array(shape.groups * this.target);
    this.compressor = new Compressor(folder, this.target, incoming, (batch, { state, slotOf }, before) => {
      this.places.fold(batch.slots, placesOf(batch, slotOf, before, state));
      this.sumRadii(batch, slotOf);
    });
  }

  async add(gist: PackedSlots): Promise<void> {
    this.places.gist(gist.slots);
    if (gist.slots > 0) await this.compressor.add(unpackSlots(gist));
  }

  async finish(): Promise<ComposedState> {
    const state = (await this.compressor.finish()) ?? emptySlots(this.shape.groups, this.shape.headSize);
    const { groups, slots } = state;
    const cut = (sums: Float64Array): Float32Array => {
      const own = new Float32Array(groups * slots);
      for (let group = 0; group < groups; group++) {
        own.set(sums.subarray(group * this.target, group * this.target + slots), group * slots);
      }
      return own;
    };
    return {
      state: {
        ...packFinely(state),
        keyRadiusSums: cut(this.keyRadiusSums),
        valueRadiusSums: cut(this.valueRadiusSums),
        created: new Uint8Array(groups * slots).fill(1),
      },
      places: this.places.ofGists(),
    };
  }

  private sumRadii(batch: Slots, slotOf: Uint32Array): void {
    for (let cell = 0; cell < slotOf.length; cell++) {
      const into = Math.floor(cell / batch.slots) * this.target + slotOf[cell]!;
      this.keyRadiusSums[into]! += batch.count[cell]! * batch.keyRadius[cell]!;
      this.valueRadiusSums[into]! += batch.count[cell]! * batch.valueRadius[cell]!;
    }
  }
}
