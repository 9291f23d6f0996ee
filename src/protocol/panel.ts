/**
 * What the extension and the panel's webviews say to each other: plain data that survives `postMessage`. Types only.
 * A webview shows what it is sent and asks the extension for the rest; it never sees the server, and a place it sends back
 * is checked again. The webview room imports this file alone.
 */
import type { Place } from './messages.js';

export type { Place } from './messages.js';

/** Text of an answer, parsed: the webview builds elements of it and never reads markup. */
export type Inline =
  | { readonly kind: 'text' | 'code'; readonly text: string }
  | { readonly kind: 'strong' | 'emphasis'; readonly inlines: readonly Inline[] }
  /** A citation that failed its check; the reason follows as text. */
  | { readonly kind: 'struck'; readonly text: string }
  /** A place that was checked: the only kind of link there is. */
  | { readonly kind: 'place'; readonly text: string; readonly place: Place };

export type Block =
  | { readonly kind: 'paragraph' | 'heading'; readonly inlines: readonly Inline[] }
  | { readonly kind: 'list'; readonly ordered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: 'code'; readonly text: string };

export type ExchangePhase = 'working' | 'writing' | 'done' | 'stopped' | 'failed';

/** What can be done about a failure. */
export type Remedy = 'askAgain' | 'summarizeAgain' | 'showLog' | 'chooseModel' | 'install';

export type ExchangeKind = 'question' | 'summary';

/** One question or summary, and what came of it. */
export interface ExchangeView {
  readonly id: number;
  readonly kind: ExchangeKind;
  /** The question, or what is summarized. */
  readonly title: string;
  /** The folder's label, where there are several. */
  readonly folder?: string;
  readonly selection?: Place;
  readonly phase: ExchangePhase;
  /** While it works: one line, e.g. how much is read and the time left. */
  readonly progress?: string;
  /** 0…1 while it is known. */
  readonly fraction?: number;
  /** Reading goes on, and an answer from what is read already can be had. */
  readonly canAnswerNow: boolean;
  readonly recalled: readonly Place[];
  readonly blocks: readonly Block[];
  readonly problem?: string;
  readonly remedies: readonly Remedy[];
  /** How much of the folder the answer rests on. */
  readonly coverage?: string;
  readonly figures?: string;
}

export interface FolderView {
  readonly uri: string;
  /** Unique among the folders. */
  readonly label: string;
}

export type ModelView =
  | { readonly kind: 'unknown' | 'ready' }
  | {
      readonly kind: 'missing';
      readonly name: string;
      /** Size, source, licence: what a consent has to know. */
      readonly facts: readonly string[];
      readonly problem?: string;
    }
  | { readonly kind: 'installing'; readonly name: string; readonly progress?: string; readonly fraction?: number };

export interface BoxState {
  readonly folders: readonly FolderView[];
  readonly folder?: string;
  readonly model: ModelView;
  /** Questions asked, latest first. */
  readonly history: readonly string[];
  /** Lines of an editor that the next question is about. */
  readonly selection?: Place;
}

export interface AskState {
  readonly box: BoxState;
  /** Latest first. */
  readonly exchanges: readonly ExchangeView[];
}

/** One exchange as it is now; its `blocks` stand for those from `blocksFrom` on, what was there before them stays. */
export interface ExchangeChange {
  readonly exchange: ExchangeView;
  readonly blocksFrom: number;
}

/** Words of the Ask view in the user's language. `{0}` stands for what is filled in. */
export interface AskStrings {
  readonly question: string;
  readonly placeholder: string;
  readonly keys: string;
  readonly ask: string;
  readonly stop: string;
  readonly folder: string;
  readonly history: string;
  readonly clearHistory: string;
  readonly aboutSelection: string;
  readonly dropSelection: string;
  readonly recalled: string;
  readonly answerNow: string;
  readonly copy: string;
  readonly copied: string;
  readonly openDocument: string;
  readonly empty: string;
  readonly noFolder: string;
  readonly modelNeeded: string;
  readonly modelPromise: string;
  readonly install: string;
  readonly installing: string;
  readonly cancel: string;
  /** What the result is called, what is said while it is worked on, and when it is complete. */
  readonly kinds: Readonly<Record<ExchangeKind, Readonly<Record<'result' | 'working' | 'complete', string>>>>;
  readonly remedies: Readonly<Record<Remedy, string>>;
}

export type ToAskView =
  /** Answers `ready`. */
  | ({ readonly type: 'start'; readonly strings: AskStrings } & AskState)
  | { readonly type: 'box'; readonly box: BoxState }
  | { readonly type: 'exchanges'; readonly exchanges: readonly ExchangeView[] }
  | ({ readonly type: 'exchange' } & ExchangeChange)
  /** Puts the cursor into the question, with `text` in it if given. */
  | { readonly type: 'focus'; readonly text?: string }
  /** Puts the focus on the heading of an exchange. */
  | { readonly type: 'focusExchange'; readonly id: number }
  | { readonly type: 'copied'; readonly id: number };

export type FromAskView =
  | { readonly type: 'ready' }
  | { readonly type: 'ask'; readonly question: string }
  | { readonly type: 'stop' }
  | { readonly type: 'answerNow' }
  | { readonly type: 'folder'; readonly uri: string }
  | { readonly type: 'dropSelection' }
  | { readonly type: 'open'; readonly id: number; readonly place: Place }
  | { readonly type: 'copy' | 'openDocument'; readonly id: number }
  | { readonly type: 'remedy'; readonly id: number; readonly remedy: Remedy }
  | { readonly type: 'install' | 'cancelInstall' | 'clearHistory' };

/** A look at the memory while it grew. */
export interface GrowthPoint {
  readonly tokens: number;
  readonly stateSlots: number;
  readonly recallSlots: number;
}

export interface GrowthLine {
  /** What the line is, with its last value, e.g. `State: 256 slots`. */
  readonly label: string;
  /** By tokens read: x and y, each 0…1 of the largest. */
  readonly points: readonly (readonly [x: number, y: number])[];
}

/** One chart of the Growth view; a folder without two points to draw has `lines: []` and says so in `summary`. */
export interface GrowthChart {
  /** The folder, where there are several. */
  readonly title?: string;
  /** The chart in words. */
  readonly summary: string;
  readonly axis: string;
  readonly lines: readonly GrowthLine[];
}

export interface ToGrowthView {
  readonly type: 'growth';
  readonly charts: readonly GrowthChart[];
}

export interface FromGrowthView {
  readonly type: 'ready';
}
