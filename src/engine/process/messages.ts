/**
 * What crosses between the server's side and the engine process: plain data and typed arrays (advanced serialization).
 * A call has an id; the engine answers it once with `result` or `error`, after any number of events. Types only.
 */
import type { ErrorCode, Progress } from '../../base/index.js';
import type { ModelDescription } from '../engine.js';
import type { Manifest } from '../graph-contract.js';
import type { ProbeReport } from '../provider-probe.js';
import type { CheckedLogits } from '../verify.js';
import type { ArraysMessage } from './pieces.js';

/** Methods of `Engine` that cross as they are, arguments in order; options are replaced by events. */
export type CallName =
  | 'countTokens'
  | 'read'
  | 'patch'
  | 'putState'
  | 'dropState'
  | 'coarsen'
  | 'putRecall'
  | 'dropRecall'
  | 'scoreRecall'
  | 'scoreSpans'
  | 'queriesAt'
  | 'generate'
  | 'loss'
  | 'lossAfter'
  /** A composition is opened, fed gist by gist, and finished: gists come one at a time. */
  | 'composeBegin'
  | 'composeAdd'
  | 'composeEnd';

export interface CallMessage {
  readonly kind: 'call';
  readonly id: number;
  readonly name: CallName;
  readonly args: readonly unknown[];
  /** Percent, of a call in the background (`CallOptions`). */
  readonly cpuShare?: number;
}

export type ToEngine =
  ArraysMessage | CallMessage | { readonly kind: 'cancel'; readonly id: number } | { readonly kind: 'stop' };

export type FromEngine =
  | ArraysMessage
  | { readonly kind: 'ready'; readonly model: ModelDescription }
  | { readonly kind: 'unusable'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'result'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'progress'; readonly id: number; readonly tokens: number }
  | { readonly kind: 'text'; readonly id: number; readonly text: string };

/** Arguments of the process: one JSON object. */
export interface EngineArguments {
  readonly modelFolder: string;
  readonly threads: number;
  readonly provider?: string;
  readonly belowNormal?: boolean;
}

/** What the process of a check is sent, once. */
export interface CheckArguments {
  readonly folder: string;
  readonly draft: Manifest;
  readonly prompt: readonly number[];
}

export type FromCheck =
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'logits'; readonly logits: CheckedLogits }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string };

/** What the process of a probe is sent, once. */
export interface ProbeArguments {
  readonly modelFolder: string;
  readonly provider: string;
  readonly threads: number;
  readonly belowNormal?: boolean;
}

export type FromProbe =
  | { readonly kind: 'report'; readonly report: ProbeReport }
  | { readonly kind: 'error'; readonly code: ErrorCode; readonly message: string };

export interface ComposeBegin {
  readonly budget: number;
  readonly incoming: number;
}
