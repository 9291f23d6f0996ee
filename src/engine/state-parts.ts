/**
 * A state in parts: groups whose slots grow alike, for a model whose entry gives key heads different shares of them
 * (docs/measurements/answers.md, Shares of the slots). Decides how a part grows, never folds.
 */
import type { Schedule } from './engine.js';
import type { Architecture, KvmSettings } from './graph-contract.js';
import { groupsOf } from './graph-contract.js';
import type { Slots } from './state.js';
import { emptySlots, pickGroups } from './state.js';

export interface StatePart {
  /** Which groups of the model these are, ascending. */
  readonly groups: readonly number[];
  /** Times the schedule's figure: slots of each of them. */
  readonly share: number;
  readonly slots: Slots;
}

/** Parts by their shares, with what is given of each; one where all grow alike. */
export function partsOf(architecture: Architecture, kvm: KvmSettings, given: Slots | undefined): StatePart[] {
  const byShare = new Map<number, number[]>();
  for (let group = 0; group < groupsOf(architecture); group++) {
    const { keyHeads } = architecture;
    const share = kvm.stateShareOfKeyHead?.[Math.floor(group / keyHeads)]?.[group % keyHeads] ?? 1;
    byShare.set(share, [...(byShare.get(share) ?? []), group]);
  }
  return [...byShare].map(([share, groups]) => ({
    groups,
    share,
    slots: given ? pickGroups(given, groups) : emptySlots(groups.length, architecture.headSize),
  }));
}

/** How a part with that share grows: those that keep everything, or the window alone, are all alike. */
export function scheduleOf(schedule: Schedule, share: number): { readonly schedule: Schedule; readonly share: number } {
  if (schedule.kind === 'keepEverything' || schedule.kind === 'windowOnly') return { schedule, share: 1 };
  return share > 0 ? { schedule, share } : { schedule: { kind: 'windowOnly' }, share: 1 };
}
