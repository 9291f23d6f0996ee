/**
 * One sentence about one place: the model sees the exact lines in its window and attends to the file's state; what it writes
 * is kept only if it is one clean sentence whose words come from those lines. Otherwise the author's own words stand there,
 * in quotation marks. Never invents a sentence and never says the same twice.
 */
import { LongviewError, codeOf } from '../base/index.js';
import type { Engine, GenerateResult } from '../engine/index.js';
import { isFaithful, wordsKey } from './faithful.js';
import { withoutLoops } from './loops.js';
import { OTHER_SCRIPT, fitting, numbered, styleFor, unframed, type Passage, type PromptStyle } from './prompt.js';
import { isWithin, type Place } from './citations.js';
import type { Section } from './summary-sections.js';

export interface SentenceTask {
  /** What the sentence is about first, then what may be shown beside it where the model is large enough. */
  readonly sections: readonly Section[];
  /** `file`: the section stands for its whole file. */
  readonly about: 'part' | 'file';
  /** Stands before the sentence, e.g. the file's path and what changed in it. */
  readonly lead?: string;
  /** Places that the lead speaks of. */
  readonly places?: readonly Place[];
}

export interface Sentence {
  readonly text: string;
  /** The lines it rests on. */
  readonly places: readonly Place[];
  /** The author's words, not the model's. */
  readonly quoted: boolean;
}

/** Tokens of the lines in the window, of all that is shown and written; and the least share of words from the lines. */
const LIMITS: Record<PromptStyle, { lines: number; beside: number; write: number; faithful: number }> = {
  plain: { lines: 140, beside: 0, write: 44, faithful: 0.75 },
  numbered: { lines: 700, beside: 500, write: 80, faithful: 0.5 },
};

const INSTRUCTIONS = 'You explain files in plain words.';

export class SentenceWriter {
  private readonly style: PromptStyle;
  private readonly said = new Set<string>();
  writtenTokens = 0;

  constructor(private readonly engine: Engine) {
    this.style = styleFor(engine.model);
  }

  /** Undefined where all that could be said has been said. `statesOf` puts the states to attend to into the engine. */
  async write(
    task: SentenceTask,
    statesOf: () => Promise<string[]>,
    signal: AbortSignal | undefined,
  ): Promise<Sentence | undefined> {
    const passages = await this.passages(task.sections);
    const [first] = passages;
    const section = task.sections[0]!;
    const lead = task.lead === undefined ? '' : `${task.lead}: `;
    if (first) {
      const begin = beginOf(section, task);
      const result = await this.generate(passages, section, task, begin, statesOf, signal);
      this.writtenTokens += result.writtenTokens;
      const text = oneSentence(result);
      const shown = passages.map(({ place }) => exactLines(place, task.sections)).join('\n');
      const isNew = text !== undefined && !this.said.has(wordsKey(text));
      if (isNew && isFaithful(text.slice(begin.length), shown, begin, LIMITS[this.style].faithful)) {
        this.said.add(wordsKey(text));
        return {
          text: lead + text,
          places: placesOf(
            task,
            passages.map(passage => passage.place),
          ),
          quoted: false,
        };
      }
    }
    const { path, startLine, endLine } = section;
    const place = first?.place ?? { path, startLine, endLine };
    const own = quotesOf(section, task).find(text => !this.said.has(wordsKey(text)));
    if (own === undefined) return undefined;
    this.said.add(wordsKey(own));
    return { text: lead + own, places: placesOf(task, [place]), quoted: true };
  }

  private async passages(sections: readonly Section[]): Promise<Passage[]> {
    const { lines, beside } = LIMITS[this.style];
    const count = (text: string): Promise<number> => this.engine.countTokens(text);
    const out: Passage[] = [];
    let left = lines;
    for (const section of sections) {
      const show = this.style === 'plain' ? unframed : numbered(out.length + 1);
      const passage = await fitting({ ...section, text: section.lines.join('\n') }, left, show, count);
      if (passage) out.push(passage);
      left = Math.min(beside, left - (passage?.tokens ?? 0));
      if (left <= 0) break;
    }
    return out;
  }

  private async generate(
    passages: readonly Passage[],
    section: Section,
    task: SentenceTask,
    begin: string,
    statesOf: () => Promise<string[]>,
    signal: AbortSignal | undefined,
  ): Promise<GenerateResult> {
    const asked = questionOf(section, task, this.style);
    const run = async (): Promise<GenerateResult> =>
      this.engine.generate(
        {
          messages: [
            { role: 'system', content: INSTRUCTIONS },
            { role: 'user', content: [...passages.map(passage => passage.text).reverse(), asked].join('\n\n') },
          ],
          answerPrefix: begin,
          states: await statesOf(),
          maxTokens: LIMITS[this.style].write,
          temperature: 0,
          repetitionPenalty: 1.1,
          stop: ['\n', '. ', '<|im_start|>'],
        },
        { signal },
      );
    const result = await run().catch(async (error: unknown) => {
      // The engine was started anew and has lost the states.
      if (codeOf(error) !== 'stale' && codeOf(error) !== 'engine-crashed') throw error;
      return run();
    });
    if (result.stopReason === 'cancelled') throw new LongviewError('cancelled', 'Cancelled.');
    return result;
  }
}

/** The lead's places, and those shown that lie in none of them. */
function placesOf({ places: told = [] }: SentenceTask, shown: readonly Place[]): Place[] {
  return [...told, ...shown.filter(place => !told.some(one => isWithin(place, one)))];
}

/** The path and the lines of a passage, without the numbers it is shown with. */
function exactLines({ path, startLine, endLine }: Place, sections: readonly Section[]): string {
  const section = sections.find(one => one.path === path && one.startLine === startLine);
  return `${path}\n${section?.lines.slice(0, endLine - startLine + 1).join('\n') ?? ''}`;
}

function questionOf({ kind, name }: Section, { about }: SentenceTask, style: PromptStyle): string {
  // A small model does best with the lines alone and one plain instruction (docs/measurements).
  if (style === 'plain') return 'Summarize this in one sentence.';
  const what =
    about === 'file'
      ? 'what this file is for'
      : kind === 'code' && name !== undefined
        ? `what \`${name}\` does`
        : 'what this part is about';
  return `Say in one short, exact sentence ${what}. Only the sentence.`;
}

/** The sentence is begun for the model with what it is about; not in front of other scripts than Latin. */
function beginOf({ kind, name, lines }: Section, { about }: SentenceTask): string {
  if (OTHER_SCRIPT.test(lines.join('\n'))) return '';
  return about === 'part' && kind === 'code' && name !== undefined ? `\`${name}\`` : '';
}

/** What was written as one sentence, with its end; undefined if it has none. */
function oneSentence({ text, stopReason }: GenerateResult): string | undefined {
  const whole = withoutLoops(text).trim();
  if (/[.!?。！？]["')\]`]*$/.test(whole)) return whole;
  return stopReason === 'length' || whole === '' ? undefined : `${whole}.`;
}

/** The author's words for a section, best first, worded as a quotation. */
function quotesOf({ kind, name, ownWords, head }: Section, { about }: SentenceTask): string[] {
  const out: string[] = [];
  const subject = name === undefined ? '' : kind === 'code' ? `\`${name}\`: ` : `${name.replace(/[:.]$/, '')}: `;
  if (ownWords !== undefined) out.push(about === 'file' ? `“${ownWords}”` : `${subject}“${ownWords}”`);
  const shown = head.replaceAll('`', "'");
  if (kind === 'code' && name !== undefined) out.push(`Defines \`${shown}\`.`);
  else if (kind === 'prose' && name !== undefined) out.push(`A section “${name}”.`);
  else if (shown !== '') out.push(`Begins with \`${shown.slice(0, 120)}\`.`);
  return out;
}
