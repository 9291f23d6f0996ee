/**
 * Whether a sentence that a small model wrote can be kept: clean, about the lines it saw, without names and numbers of its
 * own. Words are compared, not meaning: a sentence that passes may still be wrong. Never changes a text.
 */
import { questionTerms, termsOf } from '../memory/index.js';

/** What a prompt or a chat leaves in an answer. */
const leftover =
  /```|<\||in one sentence|one short|this sentence|as an ai\b|i'm sorry|i am sorry|you explain|plain words|the (?:user|assistant)\b|certainly|here is|sure,/i;

/** Words any description may use, whatever stands in the lines. */
const neutral = new Set(
  termsOf(
    'use used using return takes take gives give contains describe describes explain explains define defined provide provides section part ' +
      'text document function class method program script module file code code language programming value values called call name given',
  ),
);

const named = /`([^`\n]{1,80})`|\b([\p{L}_$][\p{L}\p{N}_$]*(?:[._][\p{L}\p{N}_$]+)+|\p{Ll}+\p{Lu}[\p{L}\p{N}]*)\b/gu;
const number = /\p{N}+(?:[.,]\p{N}+)*/gu;

/** `sentence` without the beginning it was given; `shown` is what the model saw; `least` the share of its words from there. */
export function isFaithful(sentence: string, shown: string, begin: string, least: number): boolean {
  const words = sentence.trim();
  if (words.length > 400 || words.split(/\s+/).length < 3 || leftover.test(words)) return false;
  if (!balanced(words) || repeats(words)) return false;
  for (const match of words.matchAll(named)) {
    if (!shown.includes((match[1] ?? match[2]!).replace(/\(\)$/, ''))) return false;
  }
  for (const [figure] of words.matchAll(number)) if (!shown.includes(figure)) return false;
  const there = new Set(termsOf(`${begin} ${shown}`));
  const own = questionTerms(words).filter(term => !neutral.has(term));
  const ofBegin = new Set(termsOf(begin));
  // A sentence that says no more than the name it was begun with says nothing.
  if (!own.some(term => !ofBegin.has(term))) return false;
  return own.filter(term => there.has(term)).length >= least * own.length;
}

/** One key for sentences that differ in case, marks and spaces alone. */
export function wordsKey(text: string): string {
  return termsOf(text).join(' ');
}

function balanced(text: string): boolean {
  const count = (mark: string): number => text.split(mark).length - 1;
  return count('`') % 2 === 0 && count('(') === count(')') && count('[') === count(']');
}

/** A run of three words that comes again, or one word three times in a row. */
function repeats(text: string): boolean {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_$]+/gu) ?? [];
  const seen = new Set<string>();
  for (let at = 0; at + 2 < words.length; at++) {
    const run = words.slice(at, at + 3).join(' ');
    if (seen.has(run)) return true;
    seen.add(run);
  }
  return words.some((word, at) => word === words[at + 1] && word === words[at + 2]);
}
