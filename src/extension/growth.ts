/**
 * How the memory of a folder grew while it was read: a bounded list of looks at it in the editor's store for this workspace,
 * and the chart of it. Pure: is given the store and the translation.
 */
import type { GrowthChart, GrowthPoint, StatusReply } from '../protocol/index.js';
import { count, type Translate } from './progress-line.js';
import type { KeyValueStore } from './question-history.js';

const key = 'longview.growth';
/** Beyond this every other point goes. */
const mostPoints = 200;

export class Growth {
  constructor(private readonly store: KeyValueStore) {}

  points(folder: string): readonly GrowthPoint[] {
    const kept = this.all[folder];
    return Array.isArray(kept) ? kept.filter(isPoint) : [];
  }

  /** Begins anew where fewer tokens are read than before: files were forgotten or have changed. */
  note(folder: string, { tokens, state, recall }: StatusReply): void {
    const before = this.points(folder);
    const point = { tokens, stateSlots: state.slots, recallSlots: recall.slots };
    const last = before.at(-1);
    if (last && last.tokens === tokens && last.stateSlots === state.slots && last.recallSlots === recall.slots) return;
    const kept = before.filter(earlier => earlier.tokens < tokens);
    const thinned = kept.length < mostPoints ? kept : kept.filter((_, at) => at % 2 === 0);
    void this.store.update(key, { ...this.all, [folder]: [...thinned, point] });
  }

  private get all(): Readonly<Record<string, unknown>> {
    const kept = this.store.get(key);
    return typeof kept === 'object' && kept !== null ? (kept as Record<string, unknown>) : {};
  }
}

export function growthChart(points: readonly GrowthPoint[], title: string | undefined, t: Translate): GrowthChart {
  const last = points.at(-1);
  if (!last || last.tokens === 0) return { title, summary: t('Nothing has been read yet.'), axis: '', lines: [] };
  const summary = t(
    '{0} tokens are kept in {1} slots of state and {2} slots for recall.',
    count(last.tokens),
    count(last.stateSlots),
    count(last.recallSlots),
  );
  const line = (label: string, slotsOf: (point: GrowthPoint) => number): GrowthChart['lines'][number] => {
    const top = Math.max(...points.map(slotsOf), 1);
    // While it reads, the state is not composed yet.
    const known = points.filter(point => slotsOf(point) > 0);
    return {
      label: t('{0}: {1} slots', label, count(slotsOf(last))),
      points: [[0, 0], ...known.map(point => [point.tokens / last.tokens, slotsOf(point) / top] as const)],
    };
  };
  const axis = t('{0} tokens read', count(last.tokens));
  const lines = [line(t('State'), point => point.stateSlots), line(t('Recall'), point => point.recallSlots)];
  return { title, summary, axis, lines };
}

function isPoint(kept: unknown): kept is GrowthPoint {
  const { tokens, stateSlots, recallSlots } = (kept ?? {}) as Partial<Record<keyof GrowthPoint, unknown>>;
  return [tokens, stateSlots, recallSlots].every(number => typeof number === 'number' && number >= 0);
}
