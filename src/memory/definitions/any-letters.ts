/**
 * Patterns that know ASCII names, on text in any script: letters beyond ASCII stand in for by ASCII ones, place for place, and
 * what was found is given in the letters of the text. Never changes where something is found.
 */

const beyondAscii = /[^\p{ASCII}]/u;
const wordSign = /[\p{L}\p{M}\p{N}]/gu;
const upper = /^\p{Lu}/u;
const withPlaces = new WeakMap<RegExp, RegExp>();

export type Groups = Readonly<Record<string, string | undefined>>;

/** A text, and the same with ASCII letters and digits only: of the same length. */
export interface SeenText {
  readonly text: string;
  readonly seen: string;
}

export function seenText(text: string): SeenText {
  if (!beyondAscii.test(text)) return { text, seen: text };
  const seen = text.replace(wordSign, sign =>
    beyondAscii.test(sign) ? (upper.test(sign) ? 'X' : 'x').repeat(sign.length) : sign,
  );
  return { text, seen };
}

/** The named groups of the first match; undefined where there is none. */
export function groupsIn(pattern: RegExp, { text, seen }: SeenText): Groups | undefined {
  if (seen === text) {
    const match = pattern.exec(text);
    return match ? (match.groups ?? {}) : undefined;
  }
  const match = placed(pattern).exec(seen);
  return match ? lettersOf(match, text) : undefined;
}

/** The named groups of each match of a global pattern. */
export function allGroupsIn(pattern: RegExp, { text, seen }: SeenText): Groups[] {
  if (seen === text) return [...text.matchAll(pattern)].map(match => match.groups ?? {});
  return [...seen.matchAll(placed(pattern))].map(match => lettersOf(match, text));
}

function placed(pattern: RegExp): RegExp {
  let own = withPlaces.get(pattern);
  if (!own) withPlaces.set(pattern, (own = new RegExp(pattern.source, `${pattern.flags}d`)));
  return own;
}

function lettersOf(match: RegExpExecArray | RegExpMatchArray, text: string): Groups {
  const groups: Readonly<Record<string, readonly [number, number] | undefined>> = match.indices?.groups ?? {};
  const places = Object.entries(groups);
  return Object.fromEntries(places.map(([name, place]) => [name, place && text.slice(place[0], place[1])]));
}
