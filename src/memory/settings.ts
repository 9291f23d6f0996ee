/** Settings of a workspace's memory, and which of them a file memory depends on. Never reads configuration files. */
import { textVersion } from './documents/index.js';
import type { PartLimits } from './parts.js';

export interface MemorySettings {
  /** Tokens merged into one recall slot. */
  readonly tokensPerRecallSlot: number;
  /** Slots of the workspace state at most. */
  readonly stateBudget: number;
  /** Tokens of files that get a gist, of which the workspace state is made; what is read after them is for recall alone. */
  readonly stateTokens: number;
  /** Larger files are skipped. */
  readonly maxFileBytes: number;
  /** Globs to leave out, in `.gitignore` syntax: the editor's excludes. */
  readonly exclude: readonly string[];
  /** Paths that are read whatever ignore rules and their names say. */
  readonly named: readonly string[];
  /** Weight of the words' score beside the attention's, both in standard deviations; 0 leaves words out. */
  readonly lexicalWeight: number;
  /** Bytes kept of memories that no file stands on at the moment (another branch, undo). */
  readonly keepBytes: number;
  /** Bytes of memory that recall may take; 0: a share of the machine's. */
  readonly ramBytes: number;
  /** Bytes of disk that memories may take; 0: a share of what is free. */
  readonly diskBytes: number;
  /** How long the parts of a long file are. */
  readonly parts: PartLimits;
}

export const DEFAULT_SETTINGS: MemorySettings = {
  tokensPerRecallSlot: 4,
  stateBudget: 2048,
  // As far as a state was measured to help (docs/measurements, Does the state earn its place?).
  stateTokens: 30_000,
  maxFileBytes: 50_000_000,
  exclude: [],
  named: [],
  lexicalWeight: 0.25,
  keepBytes: 512_000_000,
  ramBytes: 0,
  diskBytes: 0,
  // About 14,000 tokens, 23,000 at most where a token has 3.5 bytes: what a kill costs is read again in a minute or so.
  parts: { least: 30_000, most: 80_000 },
};

/**
 * What changes the memory of a file beside its bytes, in canonical form: the settings of reading and, for a document, what
 * made its text. Part of every memory's key.
 */
export function readingSettings(settings: MemorySettings, path: string, level: Coarseness = 0): string {
  const { tokensPerRecallSlot: fine } = settings;
  const recall = [`recall=${fine}`, `recall=${fine}>${4 * fine}`, `recall=${fine}>${8 * fine}`][Math.min(level, 2)]!;
  const version = textVersion(path);
  return [recall, ...(level === 3 ? ['gist=0'] : []), ...(version === undefined ? [] : [`text=${version}`])].join(' ');
}

/**
 * How far a memory was coarsened: not at all; 4 or 8 times as many tokens in a recall slot as when it was read; the latter
 * without its gist.
 */
export type Coarseness = 0 | 1 | 2 | 3;

/** Slots of a level that become one of the next: 1:4 → 1:16 → 1:32, then the gist goes. */
export const SLOTS_PER_COARSER_SLOT = [4, 2, 1] as const;
/** Runs of lines that a slot of the next level keeps at most, so that lines shrink as slots do. */
export const RUNS_OF_COARSER_SLOT = [8, 4] as const;

/**
 * Of the tokens in the workspace state: when more than this share came or went by patches since it was composed, it is
 * composed again (docs/measurements, A changed file).
 */
export const MOST_PATCHED = 0.1;
/** When more than this share comes or goes at once, patching it would not be worth it. */
export const MOST_IN_ONE_PATCH = 0.5;
/** When the budget differs by more than this factor from the one that the state was composed for, it is composed again. */
export const MOST_BUDGET_CHANGE = 1.25;

/** Slots of the workspace state for that many tokens in all. */
export function stateSlots(tokens: number, settings: MemorySettings): number {
  return Math.min(settings.stateBudget, Math.floor(16 * Math.sqrt(tokens)));
}
