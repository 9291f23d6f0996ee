/** Progress of work that takes over a second: what, how much of how much, in which unit. Never formats. */

export interface Progress {
  /** What is going on, e.g. `Downloading model`. */
  readonly task: string;
  readonly done: number;
  /** `undefined` while unknown. */
  readonly total?: number;
  readonly unit: 'bytes' | 'tokens' | 'files' | 'steps';
  /** What is being worked on now, e.g. a path. */
  readonly item?: string;
  /** Where the work goes through files but counts in another unit. */
  readonly files?: { readonly done: number; readonly total: number };
}

export type ProgressListener = (progress: Progress) => void;
