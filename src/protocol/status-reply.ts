/** What is told about the memory of a folder. Types only: nothing here runs. Fields may be added, never renamed. */
import type { CoverageCounts } from './messages.js';

export interface StatusReply {
  readonly coverage: CoverageCounts;
  /** Counts of the skipped files by reason, the largest first. */
  readonly skipped?: Readonly<Record<string, number>>;
  readonly tokens: number;
  /** `made` is absent where there is no state. */
  readonly state: {
    readonly slots: number;
    readonly bytes: number;
    readonly made?: 'composed' | 'patched';
    /** Of the files in it. */
    readonly tokens?: number;
  };
  readonly recall: { readonly slots: number; readonly bytes: number };
  readonly store: { readonly path: string; readonly bytes: number };
}
