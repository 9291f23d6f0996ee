/**
 * Scores of blocks from attention mass, fused with words, and the choice of the best that do not overlap.
 * The formula is the recall fit's (models/README.md): sum over heads of w·(weighted mean over the question's rows of
 * log(mass/n^a + exp(e))) - u·log(nullMass/n^a + exp(e)). The first score has the log of the mean in place of the mean of
 * the logs: it is cheap, and chooses which blocks get the other.
 * Never reads files.
 */
import type { RecallParameters } from '../engine/index.js';
import type { Block } from './block.js';
import type { TextMass } from './text-mass.js';

/** First score of one block, by its mean mass over the question's rows; blocks without a token of their own score lowest. */
export function attentionScore(text: TextMass, block: Block, parameters: RecallParameters): number {
  const tokens = text.tokensOn(block);
  if (tokens <= 0) return -Infinity;
  const { weight, nullWeight } = parameters;
  const logs = logsOf(parameters, tokens);
  return logs(weight, text.on(block, weight.length)) - logs(nullWeight, text.nullOn(block, nullWeight.length));
}

/**
 * The whole score of one block: `byHead` [H] is what the question's rows find of it, `nullByHead` [H] the contentless
 * question's mass (`Engine.scoreSpans`), where that is known better than by the text's lines.
 */
export function rowScore(
  byHead: readonly number[],
  text: TextMass,
  block: Block,
  parameters: RecallParameters,
  nullByHead?: readonly number[],
): number {
  const { weight, nullWeight } = parameters;
  const found = byHead.reduce((score, own, head) => score + weight[head]! * own, 0);
  const nothing = nullByHead ?? text.nullOn(block, nullWeight.length);
  return found - logsOf(parameters, text.tokensOn(block))(nullWeight, nothing);
}

/** Sum over heads of weight · log(mass/n^a + exp(e)), for spans of n tokens. */
function logsOf(
  parameters: RecallParameters,
  tokens: number,
): (weight: readonly number[], mass: ArrayLike<number>) => number {
  const { floors, lengths } = powersOf(parameters);
  let length = lengths.get(tokens);
  if (length === undefined) {
    length = Float64Array.from(parameters.lengthExponent, exponent => tokens ** exponent);
    if (lengths.size < MOST_LENGTHS) lengths.set(tokens, length);
  }
  const divisor = length;
  return (weight, mass) => {
    let score = 0;
    for (let head = 0; head < weight.length; head++) {
      score += weight[head]! * Math.log(mass[head]! / divisor[head]! + floors[head]!);
    }
    return score;
  };
}

/** Of the same parameters, for thousands of blocks: exp(e), and n^a by n. Both are [H]. */
interface Powers {
  readonly floors: Float64Array;
  readonly lengths: Map<number, Float64Array>;
}

const MOST_LENGTHS = 4096;
const powers = new WeakMap<RecallParameters, Powers>();

function powersOf(parameters: RecallParameters): Powers {
  let known = powers.get(parameters);
  if (!known) {
    known = { floors: Float64Array.from(parameters.logFloor, Math.exp), lengths: new Map() };
    powers.set(parameters, known);
  }
  return known;
}

/** Scores in units of their standard deviation; what is not finite is put at the lowest finite value. */
export function standardised(scores: readonly number[]): number[] {
  // Loops: there are a hundred thousand blocks and more, and nothing else runs meanwhile.
  let [count, sum, squares, lowest] = [0, 0, 0, Infinity];
  for (const score of scores) {
    if (!Number.isFinite(score)) continue;
    count++;
    sum += score;
    if (score < lowest) lowest = score;
  }
  if (count === 0) return scores.map(() => 0);
  const mean = sum / count;
  for (const score of scores) if (Number.isFinite(score)) squares += (score - mean) ** 2;
  const spread = Math.max(Math.sqrt(squares / count), 1e-6);
  return scores.map(score => ((Number.isFinite(score) ? score : lowest) - mean) / spread);
}

/** Blocks that are scored row by row, at most. */
const MOST_BY_ROWS = 300;

/** Positions, ascending, of the blocks worth scoring row by row: the best by `attention` (first scores) and words. */
export function bestByFirstScore(
  attention: readonly number[],
  words: readonly number[],
  lexicalWeight: number,
): number[] {
  const [byAttention, byWords] = [standardised(attention), standardised(words)];
  const value = new Float64Array(attention.length);
  for (let at = 0; at < value.length; at++) {
    value[at] = Number.isFinite(attention[at]) ? byAttention[at]! + lexicalWeight * byWords[at]! : -Infinity;
  }
  const least = value.toSorted().at(-MOST_BY_ROWS) ?? -Infinity;
  const best: number[] = [];
  for (let at = 0; at < value.length; at++) if (value[at]! > least) best.push(at);
  for (let at = 0; at < value.length && best.length < MOST_BY_ROWS; at++) {
    if (value[at] === least && least !== -Infinity) best.push(at);
  }
  return best.sort((a, b) => a - b);
}

/** What the words of its text count for a block, in units of what its own count (docs/measurements, Recall). */
const TEXT_WORDS = 1.2;

/**
 * The scores that the best blocks are ranked by: attention, the words of the block and those of the text that it stands in,
 * each in its standard deviations among these blocks.
 */
export function fusedScores(
  of: {
    readonly attention: readonly number[];
    readonly words: readonly number[];
    readonly wordsOfText: readonly number[];
  },
  lexicalWeight: number,
): number[] {
  const [words, wordsOfText] = [standardised(of.words), standardised(of.wordsOfText)];
  return standardised(of.attention).map(
    (score, at) => score + lexicalWeight * (words[at]! + TEXT_WORDS * wordsOfText[at]!),
  );
}

export interface Candidate extends Block {
  readonly path: string;
  readonly score: number;
  /** First line of the stretch that it begins in, where the file has several. */
  readonly stretch?: number;
}

/**
 * The best candidates, best first; of overlapping ones the better. Of a file or a stretch of it there are more than `perText`
 * only where nothing else is left, as in a folder of one document.
 */
export function* distinct(candidates: readonly Candidate[], perText: number): Generator<Candidate> {
  const taken = new Map<string, Candidate[]>();
  let waiting = [...candidates].sort(byScore);
  for (const most of [perText, Infinity]) {
    const later: Candidate[] = [];
    for (const candidate of waiting) {
      const before = taken.get(candidate.path) ?? [];
      if (before.some(other => other.startLine <= candidate.endLine && candidate.startLine <= other.endLine)) continue;
      if (before.filter(({ stretch }) => stretch === candidate.stretch).length >= most) {
        later.push(candidate);
        continue;
      }
      taken.set(candidate.path, [...before, candidate]);
      yield candidate;
    }
    waiting = later;
  }
}

function byScore(a: Candidate, b: Candidate): number {
  if (a.score !== b.score) return b.score - a.score;
  if (a.path !== b.path) return a.path < b.path ? -1 : 1;
  return a.startLine - b.startLine;
}
