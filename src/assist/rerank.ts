/**
 * Recalled places that scored almost alike, ordered anew by how likely the model finds the question behind their lines: the
 * merged keys that recall scores say less about a place than its text does. Never adds, drops or changes a place.
 */
import type { ProgressListener } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { linesOf, type RecalledSpan } from '../memory/index.js';
import { fitting, type Show } from './prompt.js';

/** Chosen on the tuning part of `npm run bench -- answers`: docs/measurements, Reranking. */
const CHOICE = {
  /** Places are read again whose score is so close to the best one's. */
  near: 0.7,
  most: 6,
  /** Of each place. */
  tokens: 150,
  /** What a nat counts beside recall's score. */
  perNat: 0.1,
} as const;

export interface RerankRequest {
  readonly engine: Pick<Engine, 'countTokens' | 'lossAfter'>;
  readonly question: string;
  /** Best first. */
  readonly spans: readonly RecalledSpan[];
}

/** The places in their new order; those that are not near the best one stay behind the others. */
export async function reranked(
  { engine, question, spans }: RerankRequest,
  options: { readonly signal?: AbortSignal; readonly onProgress?: ProgressListener } = {},
): Promise<readonly RecalledSpan[]> {
  const near = spans.slice(0, CHOICE.most).filter(({ score }) => spans[0]!.score - score < CHOICE.near);
  if (near.length < 2) return spans;
  options.onProgress?.({ task: 'Comparing places', done: 0, total: near.length, unit: 'steps' });
  const countTokens = (text: string): Promise<number> => engine.countTokens(text);
  const texts: string[] = [];
  for (const span of near) {
    const passage = await fitting(excerptOf(span), CHOICE.tokens, asFile, countTokens);
    texts.push(`${passage?.text ?? `File ${span.path}:`}\n\nQuestion about these lines: `);
  }
  const nats = await engine.lossAfter(texts, question, { signal: options.signal });
  const order = near.map((span, at) => ({ span, value: span.score - CHOICE.perNat * nats[at]! }));
  order.sort((a, b) => b.value - a.value);
  return [...order.map(({ span }) => span), ...spans.slice(near.length)];
}

/** What names the place, and the lines that the question finds most. */
function excerptOf(span: RecalledSpan): RecalledSpan {
  const { focus, startLine } = span;
  if (!focus || focus.startLine === startLine) return span;
  const lines = linesOf(span.text);
  const found = lines.slice(focus.startLine - startLine, focus.endLine - startLine + 1);
  return { ...span, text: [lines[0], ...found].join('\n') };
}

const asFile: Show = ({ path }, lines) => `File ${path}:\n${lines.join('\n')}`;
