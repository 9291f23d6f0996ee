/**
 * One question of the Ask view and what comes of it, as the view shows it and as a document holds it. Everything that comes
 * from files or the model is made visible text here. Knows nothing of the editor and sends nothing.
 */
import type {
  AskReply,
  Block,
  ExchangeChange,
  ExchangeView,
  Place,
  RecalledPlace,
  Remedy,
  Selection,
} from '../protocol/index.js';
import { isPlaceWithin, markupOf } from './answer-markup.js';
import { figuresOf, type AnswerParts } from './answer-text.js';
import type { ShownProgress } from './progress-line.js';
import { visibleText } from './visible-text.js';

export interface Asked {
  readonly id: number;
  readonly question: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  /** Label of the folder, where there are several. */
  readonly label?: string;
  readonly selection?: Selection;
}

export class Exchange {
  view: ExchangeView;
  private recalled: readonly RecalledPlace[] = [];
  private text = '';
  private reply: AskReply | undefined;

  constructor(readonly asked: Asked) {
    const { id, question, label, selection } = asked;
    this.view = {
      id,
      question: visibleText(question),
      folder: label,
      selection: selection && placeOnly(selection),
      phase: 'working',
      canAnswerNow: false,
      recalled: [],
      blocks: [],
      remedies: [],
    };
  }

  /** What Copy gives. */
  get answer(): string {
    return (this.reply?.answer ?? this.text).trim();
  }

  /** What a document of the answer shows. */
  get parts(): AnswerParts {
    const { asked, recalled, text, reply, view } = this;
    return { question: asked.question, recalled, text, reply, problem: view.problem };
  }

  /** Places that the view may ask to open. */
  mayOpen(place: Place): boolean {
    return this.checked().some(whole => isPlaceWithin(place, whole));
  }

  showProgress(shown: ShownProgress, canAnswerNow: boolean): ExchangeChange {
    const progress = visibleText(shown.progress);
    return this.become({ progress, fraction: shown.fraction, canAnswerNow });
  }

  /** Begins anew, e.g. to answer from what is read. */
  restart(progress: string): ExchangeChange {
    this.text = '';
    this.recalled = [];
    const cleared = { problem: undefined, remedies: [], fraction: undefined, canAnswerNow: false };
    return this.become({ phase: 'working', progress, ...cleared, recalled: [], blocks: [] });
  }

  showRecalled(recalled: readonly RecalledPlace[], progress: string): ExchangeChange {
    this.recalled = recalled;
    return this.become({ recalled: recalled.map(placeOnly), progress, fraction: undefined, canAnswerNow: false });
  }

  append(text: string): void {
    this.text += text;
  }

  /** The words so far, after `append`. */
  showText(): ExchangeChange {
    return this.withBlocks(this.text, { phase: 'writing' });
  }

  complete(reply: AskReply): ExchangeChange {
    this.reply = reply;
    this.recalled = reply.recalled;
    const end = reply.answer.lastIndexOf('\n\n');
    return this.withBlocks(reply.answer.slice(0, Math.max(0, end)), {
      ...ended,
      phase: 'done',
      recalled: reply.recalled.map(placeOnly),
      coverage: reply.answer.slice(end).trim(),
      figures: visibleText(figuresOf(reply)),
    });
  }

  stop(problem: string): ExchangeChange {
    return this.withBlocks(this.text, { ...ended, phase: 'stopped', problem, remedies: ['askAgain'] });
  }

  fail(problem: string, remedies: readonly Remedy[]): ExchangeChange {
    return this.withBlocks(this.text, { ...ended, phase: 'failed', problem: visibleText(problem), remedies });
  }

  private checked(): Place[] {
    const cited = this.reply?.citations.filter(citation => citation.ok) ?? [];
    return [...this.recalled, ...cited, ...(this.asked.selection ? [this.asked.selection] : [])].map(placeOnly);
  }

  /** Tells only the blocks that changed: the others stay as they are on the screen. */
  private withBlocks(text: string, change: Partial<ExchangeView>): ExchangeChange {
    return this.become({ ...change, blocks: markupOf(visibleText(text), this.checked()) });
  }

  private become(change: Partial<ExchangeView>): ExchangeChange {
    const before = this.view.blocks;
    this.view = { ...this.view, ...change };
    const { blocks } = this.view;
    const blocksFrom = blocks === before ? blocks.length : firstDifference(before, blocks);
    return { exchange: { ...this.view, blocks: blocks.slice(blocksFrom) }, blocksFrom };
  }
}

const ended = { progress: undefined, fraction: undefined, canAnswerNow: false };

function firstDifference(before: readonly Block[], after: readonly Block[]): number {
  const at = after.findIndex((block, index) => JSON.stringify(block) !== JSON.stringify(before[index]));
  return at < 0 ? after.length : at;
}

export function placeOnly({ path, startLine, endLine }: Place): Place {
  return { path, startLine, endLine };
}
