/** Figures about a workspace's memory, from the ledger and the store alone. Never starts the engine and never reads files. */
import { partsOf, slotsOf, tokensOf, type LedgerRow, type Store } from './store/index.js';
import type { Coverage, WorkspaceStatus } from './workspace-memory.js';

export function coverageOf(rows: readonly LedgerRow[]): Coverage {
  const count = { total: rows.length, read: 0, stale: 0, waiting: 0, coarse: 0, skipped: 0 };
  for (const { state } of rows) count[state === 'reading' ? 'waiting' : state]++;
  const partly = rows.filter(({ state, reason }) => state === 'read' && reason !== undefined).length;
  return partly === 0 ? count : { ...count, partly };
}

/** Counts of the skipped files by reason, the largest first. */
export function skippedOf(rows: readonly Pick<LedgerRow, 'state' | 'reason'>[]): Record<string, number> {
  const counts = new Map<string, number>();
  for (const { state, reason = 'unknown' } of rows) {
    if (state === 'skipped') counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return Object.fromEntries([...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1)));
}

export function statusOf(
  rows: readonly LedgerRow[],
  store: Store,
  state: { slots: number; bytes: number; tokens: number; patchedTokens: number } | undefined,
  storeBytes: number,
): WorkspaceStatus {
  const remembered = rows.filter(row => partsOf(row).length > 0);
  const slots = remembered.reduce((sum, row) => sum + slotsOf(row), 0);
  return {
    coverage: coverageOf(rows),
    skipped: skippedOf(rows),
    tokens: remembered.reduce((sum, row) => sum + tokensOf(row), 0),
    state: state
      ? {
          ...{ slots: state.slots, bytes: state.bytes, tokens: state.tokens },
          made: state.patchedTokens > 0 ? 'patched' : 'composed',
        }
      : { slots: 0, bytes: 0 },
    recall: { slots, bytes: slots * bytesOfRecallSlot(remembered, store) },
    store: { path: store.folder, bytes: storeBytes },
  };
}

/** Bytes of one slot of all recall heads: int8 key, scale and count of each. All memories of a model agree. */
function bytesOfRecallSlot(rows: readonly LedgerRow[], store: Store): number {
  for (const { key } of rows.flatMap(partsOf)) {
    const memory = store.getRecall(key);
    if (memory?.ok) return memory.value.recall.heads * (memory.value.recall.headSize + 8);
  }
  return 0;
}
