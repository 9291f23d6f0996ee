/** One question of the Ask view and its answer. Knows nothing of the editor and sends nothing. */
import type { AskReply, Block, ExchangeChange, Place, RecalledPlace, Selection } from '../protocol/index.js';
import { markupOf } from './answer-markup.js';
import { figuresOf, renderAnswer } from './answer-text.js';
import { Exchange, ended, placeOnly } from './exchange.js';
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

export class AskExchange extends Exchange {
  protected readonly again = 'askAgain';
  private recalled: readonly RecalledPlace[] = [];
  private text = '';
  private reply: AskReply | undefined;

  constructor(readonly asked: Asked) {
    const { id, question, folder, label, selection } = asked;
    super(folder, {
      id,
      kind: 'question',
      title: question,
      folder: label,
      selection: selection && placeOnly(selection),
    });
  }

  get copied(): string {
    return (this.reply?.answer ?? this.text).trim();
  }

  get document(): string {
    const { asked, recalled, text, reply, view } = this;
    return renderAnswer({ question: asked.question, recalled, text, reply, problem: view.problem });
  }

  get checked(): Place[] {
    const cited = this.reply?.citations.filter(citation => citation.ok) ?? [];
    return [...this.recalled, ...cited, ...(this.asked.selection ? [this.asked.selection] : [])].map(placeOnly);
  }

  override restart(progress: string): ExchangeChange {
    this.text = '';
    this.recalled = [];
    return super.restart(progress);
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
    return this.become({ phase: 'writing', blocks: this.blocks() });
  }

  complete(reply: AskReply): ExchangeChange {
    this.reply = reply;
    this.recalled = reply.recalled;
    // The answer ends with its coverage.
    const end = reply.answer.lastIndexOf('\n\n');
    this.text = reply.answer.slice(0, Math.max(0, end));
    return this.become({
      ...ended,
      phase: 'done',
      blocks: this.blocks(),
      recalled: reply.recalled.map(placeOnly),
      coverage: reply.answer.slice(end).trim(),
      figures: visibleText(figuresOf(reply)),
    });
  }

  protected blocks(): Block[] {
    return markupOf(visibleText(this.text), this.checked);
  }
}
