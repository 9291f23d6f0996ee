/**
 * Names of code that a model wrote and that stand in none of the texts it answers about: struck out, for a small model makes
 * them up. Words without a sign of code (`parse`, `Error`) are left alone. Never judges what is said of a name.
 */

const name = /[\p{L}_$][\p{L}\p{N}_$]*/gu;
/** With a sign of code: an underscore, or a capital within. */
const distinct = /\p{L}_|_\p{L}|\p{Ll}\p{Lu}/u;
/**
 * What is looked at one after another: struck-out text, which stays; code; names in prose that have an underscore, for a capital
 * within is no sign there (`JavaScript`), and that are no part of a path or an address.
 */
const looked =
  /~~[^~\n]+~~|`([^`\n]{1,200})`|(?<![\p{L}\p{N}_$/.~:-])(\p{L}[\p{L}\p{N}$]*_[\p{L}\p{N}_$]*)(?![\p{L}\p{N}_$/:-]|\.\p{L})/gu;
const fence = /^ {0,3}```/;

export interface CheckedNames {
  /** Such names as `~~name~~`, the first time each with the reason behind it. */
  readonly text: string;
  /** By their first place in the text. */
  readonly unknown: readonly string[];
}

/**
 * `places`: citations that were checked, as code as they stand in the text; they are not looked at, nor are blocks of code.
 * `texts`: what the answer is about, and the question.
 */
export function checkNames(text: string, places: readonly string[], texts: readonly string[]): CheckedNames {
  const known = new Set(texts.flatMap(one => one.match(name) ?? []));
  const isUnknown = (word: string): boolean => distinct.test(word) && !known.has(word);
  const unknown = new Set<string>();
  const struck = (words: string): string => {
    const why = unknown.has(words) ? '' : ' (not in the files recalled)';
    unknown.add(words);
    return `~~${words}~~${why}`;
  };
  let isBlock = false;
  const lines = text.split('\n').map(line => {
    if (fence.test(line)) isBlock = !isBlock;
    // Where a mark has no partner, one more would strike out something else.
    if (isBlock || fence.test(line) || line.replace(/~~[^~]+~~/g, '').includes('~')) return line;
    return line.replace(looked, (whole, code: string | undefined, word: string | undefined) => {
      if (places.includes(whole)) return whole;
      const made = code === undefined ? word !== undefined && isUnknown(word) : code.match(name)?.some(isUnknown);
      return made === true ? struck(code ?? word!) : whole;
    });
  });
  return { text: lines.join('\n'), unknown: [...unknown] };
}
