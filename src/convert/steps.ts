/**
 * Progress and cancellation of work over all weights of a checkpoint: both in steps of 4 million weights, well under a
 * second each, so that neither waits for a layer or an embedding to end. Knows nothing of what the work is.
 */
import { throwIfCancelled } from '../base/index.js';
import type { ProgressListener } from '../base/index.js';
import type { Checkpoint } from './checkpoint/index.js';

export interface StepOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: ProgressListener;
}

const STEP = 1 << 22;

/** Values of all tensors. */
export function weightCount(checkpoint: Checkpoint): number {
  const sizes = checkpoint.tensorNames.map(name => checkpoint.tensor(name).shape.reduce((a, b) => a * b, 1));
  return sizes.reduce((a, b) => a + b, 0);
}

export class Steps {
  private weights = 0;
  private told = -1;
  private readonly total: number;

  /** Throws `cancelled`. */
  constructor(
    private readonly task: string,
    weights: number,
    private readonly options: StepOptions,
  ) {
    this.total = Math.max(1, Math.floor(weights / STEP));
    this.worked(0);
  }

  /** Throws `cancelled`. */
  worked(weights: number): void {
    throwIfCancelled(this.options.signal);
    this.weights += weights;
    const done = Math.min(this.total, Math.floor(this.weights / STEP));
    if (done === this.told) return;
    this.told = done;
    this.options.onProgress?.({ task: this.task, done, total: this.total, unit: 'steps' });
  }
}
