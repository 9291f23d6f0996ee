/**
 * How the state of a text that is being read grows and is read, where a model's entry has values fitted for that: layers
 * have shares of the slots, and their heads weigh slots in ways of their own (docs/measurements/answers.md, A state within a
 * text). Never folds, never runs a graph.
 */
import type { Schedule } from './engine.js';
import type { Architecture, GrowingState } from './graph-contract.js';
import type { Model } from './model.js';
import type { Rotation } from './rotary.js';
import { rotationOf } from './rotary.js';
import type { Slots } from './state.js';
import { emptySlots, pickGroups } from './state.js';

/** Layers whose slots grow alike. */
export interface StatePart {
  /** Ascending. */
  readonly layers: readonly number[];
  /** Times the schedule's figure: slots of each. */
  readonly share: number;
  /** Of those layers' groups, in order. */
  readonly slots: Slots;
}

/** Fitted values by which the text's own slots are read, and the distance that queries are rotated to. */
export interface FittedReading extends GrowingState {
  readonly readDistance: number;
}

/** Where the schedule merges and the entry has values: what keeps everything, or the window alone, is read as the model is. */
export function fittedReading(
  { manifest: { kvm } }: Model,
  { kind }: Schedule,
  readDistance: number,
): FittedReading | undefined {
  return kind === 'keepEverything' || kind === 'windowOnly' || !kvm.growing
    ? undefined
    : { ...kvm.growing, readDistance };
}

/** Parts by their shares, with what is given of each; one where all grow alike. */
export function partsOf(
  architecture: Architecture,
  fitted: FittedReading | undefined,
  given: Slots | undefined,
): StatePart[] {
  const { kvmLayers, headSize } = architecture;
  const byShare = new Map<number, number[]>();
  for (let layer = 0; layer < kvmLayers; layer++) {
    const share = fitted?.shareOfLayer[layer] ?? 1;
    byShare.set(share, [...(byShare.get(share) ?? []), layer]);
  }
  return [...byShare].map(([share, layers]) => {
    const groups = groupsOfLayers(architecture, layers);
    const slots = given ? pickGroups(given, groups) : emptySlots(groups.length, headSize);
    return { layers, share, slots };
  });
}

/** Groups of these layers, in order. */
export function groupsOfLayers({ keyHeads }: Architecture, layers: readonly number[]): number[] {
  return layers.flatMap(layer => Array.from({ length: keyHeads }, (_, keyHead) => layer * keyHeads + keyHead));
}

/** A layer with no share keeps the sinks alone. */
export function scheduleOf(schedule: Schedule, { share }: StatePart): Schedule {
  return share > 0 ? schedule : { kind: 'windowOnly' };
}

/** What multiplies a key head's slots as they are read, and how its read keys are turned for its own distance. */
export interface KeyHeadReading {
  readonly temperature: number;
  readonly valueScale: number;
  /** One row; a key so turned is as far from a query rotated to `readDistance` as the own distance is. */
  readonly turn: Rotation;
}

export function keyHeadReading(
  architecture: Architecture,
  fitted: FittedReading,
  layer: number,
  keyHead: number,
): KeyHeadReading {
  const own = (table: readonly (readonly number[])[]): number | undefined => table[layer]?.[keyHead];
  return {
    temperature: own(fitted.temperatureOfKeyHead) ?? 1,
    valueScale: own(fitted.valueScaleOfKeyHead) ?? 1,
    turn: rotationOf(
      architecture.frequencies,
      fitted.readDistance - (own(fitted.readDistanceOfKeyHead) ?? fitted.readDistance),
      1,
    ),
  };
}
