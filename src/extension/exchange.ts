/**
 * One thing that the user wanted of the Ask view and what comes of it, as the view shows it and as a document holds it.
 * Everything that comes from files or the model is made visible text here. Knows nothing of the editor and sends nothing.
 */
import type { Block, ExchangeChange, ExchangeView, Place, Remedy } from '../protocol/index.js';
import { isPlaceWithin } from './answer-markup.js';
import type { ShownProgress } from './progress-line.js';
import { visibleText } from './visible-text.js';

/** What is known of it when it begins. */
export type Begun = Pick<ExchangeView, 'id' | 'kind' | 'title' | 'folder' | 'selection'>;

export abstract class Exchange {
  view: ExchangeView;

  /** `folder`: URI of the workspace folder. */
  protected constructor(
    readonly folder: string,
    begun: Begun,
  ) {
    const empty = { canAnswerNow: false, recalled: [], blocks: [], remedies: [] };
    this.view = { ...begun, title: visibleText(begun.title), phase: 'working', ...empty };
  }

  /** What Copy gives. Markdown. */
  abstract get copied(): string;

  /** The whole as a document. Markdown. */
  abstract get document(): string;

  /** Places that were checked: the only ones that become links and that the view may open. */
  abstract get checked(): readonly Place[];

  mayOpen(place: Place): boolean {
    return this.checked.some(whole => isPlaceWithin(place, whole));
  }

  showProgress(shown: ShownProgress, canAnswerNow = false): ExchangeChange {
    const progress = visibleText(shown.progress);
    return this.become({ progress, fraction: shown.fraction, canAnswerNow });
  }

  /** Begins anew, e.g. to answer from what is read. */
  restart(progress: string): ExchangeChange {
    const cleared = { problem: undefined, remedies: [], fraction: undefined, canAnswerNow: false };
    return this.become({ phase: 'working', progress, ...cleared, recalled: [], blocks: [] });
  }

  stop(problem: string): ExchangeChange {
    return this.become({ ...ended, phase: 'stopped', problem, remedies: [this.again], blocks: this.blocks() });
  }

  /** `remedies` beside trying again. */
  fail(problem: string, remedies: readonly Remedy[], canTryAgain: boolean): ExchangeChange {
    const offered = canTryAgain ? [this.again, ...remedies] : remedies;
    const blocks = this.blocks();
    return this.become({ ...ended, phase: 'failed', problem: visibleText(problem), remedies: offered, blocks });
  }

  /** What is there so far. */
  protected abstract blocks(): readonly Block[];

  protected abstract readonly again: Remedy;

  /** Tells only the blocks that changed: the others stay as they are on the screen. */
  protected become(change: Partial<ExchangeView>): ExchangeChange {
    const before = this.view.blocks;
    this.view = { ...this.view, ...change };
    const { blocks } = this.view;
    const blocksFrom = blocks === before ? blocks.length : firstDifference(before, blocks);
    return { exchange: { ...this.view, blocks: blocks.slice(blocksFrom) }, blocksFrom };
  }
}

/** What nothing that ended shows any more. */
export const ended = { progress: undefined, fraction: undefined, canAnswerNow: false };

function firstDifference(before: readonly Block[], after: readonly Block[]): number {
  const at = after.findIndex((block, index) => JSON.stringify(block) !== JSON.stringify(before[index]));
  return at < 0 ? after.length : at;
}

export function placeOnly({ path, startLine, endLine, place }: Place): Place {
  return { path, startLine, endLine, ...(place !== undefined && { place }) };
}
