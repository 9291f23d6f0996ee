/** One summary in the Ask view: a list of sentences, each with links to its lines. Knows nothing of the editor and sends nothing. */
import type {
  Block,
  ExchangeChange,
  Inline,
  Place,
  SummaryReply,
  SummarySentence,
  SummaryTarget,
} from '../protocol/index.js';
import { inlineMarkup, markupOf } from './answer-markup.js';
import { placeShown } from './answer-text.js';
import { Exchange, ended } from './exchange.js';
import { figuresOfSummary, renderSummary, renderSummaryWithFigures, type SummaryParts } from './summary-text.js';
import { visibleText } from './visible-text.js';

export interface Summarized {
  readonly id: number;
  readonly target: SummaryTarget;
  /** E.g. `Summary of src/`. */
  readonly title: string;
  /** URI of the workspace folder. */
  readonly folder: string;
  /** Label of the folder, where there are several. */
  readonly label?: string;
  readonly maxSentences?: number;
}

export class SummaryExchange extends Exchange {
  protected readonly again = 'summarizeAgain';
  private sentences: readonly SummarySentence[] = [];
  private reply: SummaryReply | undefined;

  constructor(readonly wanted: Summarized) {
    const { id, title, folder, label } = wanted;
    super(folder, { id, kind: 'summary', title, folder: label });
  }

  get copied(): string {
    return renderSummary(this.parts).trim();
  }

  get document(): string {
    return renderSummaryWithFigures(this.parts);
  }

  get checked(): Place[] {
    return this.shown.flatMap(({ places }) => places);
  }

  override restart(progress: string): ExchangeChange {
    this.sentences = [];
    return super.restart(progress);
  }

  append(sentence: SummarySentence): ExchangeChange {
    this.sentences = [...this.sentences, sentence];
    return this.become({ phase: 'writing', blocks: this.blocks() });
  }

  complete(reply: SummaryReply): ExchangeChange {
    this.reply = reply;
    const [coverage, figures] = [visibleText(reply.basis), visibleText(figuresOfSummary(reply))];
    return this.become({ ...ended, phase: 'done', blocks: this.blocks(), coverage, figures });
  }

  protected blocks(): Block[] {
    const { checked, shown } = this;
    const items = shown.map(sentence => sentenceInlines(sentence, checked));
    const list: Block[] = items.length > 0 ? [{ kind: 'list', ordered: false, items }] : [];
    return [...list, ...(this.reply?.notes ?? []).flatMap(note => markupOf(visibleText(note), checked))];
  }

  private get shown(): readonly SummarySentence[] {
    return this.reply?.summary ?? this.sentences;
  }

  private get parts(): SummaryParts {
    const { wanted, sentences, reply, view } = this;
    return { title: wanted.title, sentences, reply, problem: view.problem };
  }
}

function sentenceInlines({ text, places }: SummarySentence, checked: readonly Place[]): Inline[] {
  const links = places.flatMap((place, at): Inline[] => [
    { kind: 'text', text: at === 0 ? ' (' : ', ' },
    { kind: 'place', text: placeShown(place), place },
  ]);
  return [...inlineMarkup(visibleText(text).trim(), checked), ...links, { kind: 'text', text: ')' }];
}
