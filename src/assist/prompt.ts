/**
 * The prompt of a question: short instructions, passages with their places, the question last. What stands in files is
 * quoted as it is, except that nothing in it can end a turn of the chat. Never asks the model.
 *
 * Two styles. `numbered`: passages with numbers and line numbers, and the model is asked to name places. `plain`: for models
 * too small for that (they copy line numbers instead of explaining): bare passages, and the answer is begun for the model
 * with the place of the best one.
 */
import { fenced } from '../base/index.js';
import type { ChatMessage, ModelDescription } from '../engine/index.js';
import { linesOf, type RecalledSpan } from '../memory/index.js';
import { placeOf, type Place } from './citations.js';
import { linesAbout, partAbout } from './lines-about.js';

export type PromptStyle = 'plain' | 'numbered';
export type PassageOrder = 'best-last' | 'best-first';

export interface Prompt {
  readonly messages: readonly ChatMessage[];
  /** How the answer begins. */
  readonly answerPrefix: string;
  /** What `[1]`, `[2]`, … stand for: the parts of the spans that fitted, best first. */
  readonly places: readonly Place[];
}

export interface PromptParts {
  readonly question: string;
  readonly style: PromptStyle;
  /** Best first. */
  readonly spans: readonly RecalledSpan[];
  /** Passages at most; default by the style. */
  readonly passages?: number;
  /** Where the best passage stands; default next to the question. */
  readonly order?: PassageOrder;
  /** Tokens of the whole prompt at most. */
  readonly budget: number;
  readonly countTokens: (text: string) => Promise<number>;
}

export interface Passage {
  readonly place: Place;
  readonly text: string;
  readonly tokens: number;
}

const INSTRUCTIONS: Record<PromptStyle, string> = {
  plain: 'You explain files in plain words.',
  numbered:
    'You answer questions about the files in a folder. Use only the passages. Be brief and exact. ' +
    'Name the place of what you say as path:line.',
};
/** Tokens of the chat template and a reserve. */
const OVERHEAD_TOKENS = 40;
const LEAST_LINES = 3;
/** Of a line that is cut. */
const LEAST_CHARACTERS = 80;
/** Passages and tokens of a prompt, where the caller does not say. */
export const PROMPT_LIMITS: Record<PromptStyle, { readonly passages: number; readonly tokens: number }> = {
  plain: { passages: 3, tokens: 520 },
  numbered: { passages: 6, tokens: 1000 },
};
/** Models narrower than this get plain prompts. */
const NUMBERED_WIDTH = 768;
/** Beyond Latin letters an English beginning would not fit the answer. */
export const OTHER_SCRIPT = /[^\p{sc=Latin}\p{sc=Common}]/u;

export function styleFor(model: Pick<ModelDescription, 'heads' | 'headSize'>): PromptStyle {
  return model.heads * model.headSize < NUMBERED_WIDTH ? 'plain' : 'numbered';
}

export async function promptOf(parts: PromptParts): Promise<Prompt> {
  const { question, style, spans, budget, countTokens } = parts;
  const plain = style === 'plain';
  const shown = await cut(question.trim(), Math.floor(budget / 2), countTokens);
  const asked = `Question: ${quoted(shown)}${plain ? '\nAnswer in two sentences.' : ''}`;
  let left = budget - OVERHEAD_TOKENS - (await countTokens(INSTRUCTIONS[style])) - (await countTokens(asked));
  const passages: Passage[] = [];
  for (const span of spans.slice(0, parts.passages ?? PROMPT_LIMITS[style].passages)) {
    const show = plain ? bare : numbered(passages.length + 1);
    const passage = await fitting(span, left, show, countTokens, question);
    if (!passage) continue;
    passages.push(passage);
    left -= passage.tokens;
  }
  const best = passages[0]?.place;
  const texts = passages.map(passage => passage.text);
  // The best passage stands next to the question, where the window surely holds it.
  if (parts.order !== 'best-first') texts.reverse();
  return {
    messages: [
      { role: 'system', content: INSTRUCTIONS[style] },
      { role: 'user', content: [...texts, asked].join('\n\n') },
    ],
    answerPrefix: plain && best && !OTHER_SCRIPT.test(question) ? `In \`${placeOf(best)}\`, the` : '',
    places: passages.map(passage => passage.place),
  };
}

/** As much of a text's start as fits into so many tokens; most of the prompt belongs to the passages. */
async function cut(text: string, most: number, countTokens: PromptParts['countTokens']): Promise<string> {
  let short = text;
  for (let tokens = await countTokens(short); tokens > most; tokens = await countTokens(short)) {
    short = short.slice(0, Math.min(short.length - 1, Math.floor((short.length * most) / tokens)));
  }
  return short === text ? text : `${short} …`;
}

export type Show = (place: Place, lines: readonly string[]) => string;

const bare: Show = (place, lines) => {
  return `File ${placeOf(place)}:\n${fenced(quoted(lines.join('\n')))}`;
};

/** Lines alone, for a prompt that speaks of nothing else. */
export const unframed: Show = (_place, lines) => quoted(lines.join('\n'));

export function numbered(number: number): Show {
  return (place, lines) =>
    `[${number}] ${placeOf(place)}\n${quoted(lines.map((line, at) => `${place.startLine + at}: ${line}`).join('\n'))}`;
}

/** As many of the span's lines as fit into `left` tokens: those that say most about the question, the first without one. */
export async function fitting(
  span: Place & Pick<RecalledSpan, 'text' | 'focus'>,
  left: number,
  show: Show,
  countTokens: (text: string) => Promise<number>,
  question?: string,
): Promise<Passage | undefined> {
  const lines = linesOf(span.text);
  for (let count = lines.length; count >= Math.min(LEAST_LINES, lines.length);) {
    const first = question === undefined ? 0 : linesAbout(span, lines, question, count);
    const startLine = span.startLine + first;
    const place = { path: span.path, startLine, endLine: startLine + count - 1 };
    const text = show(place, lines.slice(first, first + count));
    const tokens = await countTokens(text);
    if (tokens <= left) return { place, text, tokens };
    if (left <= 0) return undefined;
    count = Math.min(count - 1, Math.floor((count * left) / tokens));
  }
  // Lines longer than the room, such as a paragraph on one line: of the best one what says most, as far as it fits.
  const best = question === undefined ? 0 : linesAbout(span, lines, question, 1);
  const line = lines[best]!;
  const place = { path: span.path, startLine: span.startLine + best, endLine: span.startLine + best };
  for (let length = line.length; length >= LEAST_CHARACTERS;) {
    const text = show(place, [partAbout(line, question ?? '', length).text]);
    const tokens = await countTokens(text);
    if (tokens <= left) return { place, text, tokens };
    length = Math.min(length - 1, Math.floor((length * left) / tokens));
  }
  return undefined;
}

/** Marks of a chat template, such as `<|im_end|>`, lose their meaning. */
function quoted(text: string): string {
  return text
    .replace(/<\|(?=[\w-]{1,40}\|>)/g, '< |')
    .replace(/<(?=\/?(?:s|bos|eos|start_of_turn|end_of_turn)>)/g, '< ');
}
