/**
 * The prompt of a question: short instructions, passages with their places and numbered lines, the question last.
 * What stands in files is quoted as it is, except that nothing in it can end a turn of the chat. Never asks the model.
 */
import type { ChatMessage } from '../engine/index.js';
import { linesOf, type RecalledSpan } from '../memory/index.js';
import { placeOf, type Place } from './citations.js';

export interface Prompt {
  readonly messages: readonly ChatMessage[];
  /** What `[1]`, `[2]`, … stand for: the parts of the spans that fitted, best first. */
  readonly places: readonly Place[];
}

export interface PromptParts {
  readonly question: string;
  /** Best first. */
  readonly spans: readonly RecalledSpan[];
  /** Tokens of the whole prompt at most. */
  readonly budget: number;
  readonly countTokens: (text: string) => Promise<number>;
}

const instructions =
  'You answer questions about the files in a folder. Use only the passages. Be brief and exact. Name the place of what you say as path:line.';
/** Tokens of the chat template and a reserve. */
const overhead = 40;
const leastLines = 3;

export async function promptOf({ question, spans, budget, countTokens }: PromptParts): Promise<Prompt> {
  const asked = `Question: ${quoted(question.trim())}`;
  let left = budget - overhead - (await countTokens(instructions)) - (await countTokens(asked));
  const passages: { place: Place; text: string }[] = [];
  for (const span of spans) {
    const passage = await fitting(span, passages.length + 1, left, countTokens);
    if (!passage) continue;
    passages.push(passage);
    left -= passage.tokens;
  }
  // The best passage stands next to the question, where the window surely holds it.
  const shown = passages.map(passage => passage.text).reverse();
  return {
    messages: [
      { role: 'system', content: instructions },
      { role: 'user', content: [...shown, asked].join('\n\n') },
    ],
    places: passages.map(passage => passage.place),
  };
}

/** As many of the span's first lines as fit into `left` tokens. */
async function fitting(
  span: RecalledSpan,
  number: number,
  left: number,
  countTokens: (text: string) => Promise<number>,
): Promise<{ place: Place; text: string; tokens: number } | undefined> {
  const lines = linesOf(span.text);
  for (let count = lines.length; count >= Math.min(leastLines, lines.length);) {
    const place = { path: span.path, startLine: span.startLine, endLine: span.startLine + count - 1 };
    const numbered = lines.slice(0, count).map((line, index) => `${span.startLine + index}: ${line}`);
    const text = `[${number}] ${placeOf(place)}\n${quoted(numbered.join('\n'))}`;
    const tokens = await countTokens(text);
    if (tokens <= left) return { place, text, tokens };
    if (left <= 0) return undefined;
    count = Math.min(count - 1, Math.floor((count * left) / tokens));
  }
  return undefined;
}

/** Marks of a chat template, such as `<|im_end|>`, lose their meaning. */
function quoted(text: string): string {
  return text
    .replace(/<\|(?=[\w-]{1,40}\|>)/g, '< |')
    .replace(/<(?=\/?(?:s|bos|eos|start_of_turn|end_of_turn)>)/g, '< ');
}
