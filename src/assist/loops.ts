/** Tidies what a small model wrote: what repeats is cut, and a sentence without an end. Never changes what is said once. */

const sentence = /[^\n.!?]+(?:[.!?]+(?=\s|$)|\n|[.!?]+|$)|[\n.!?]+/g;

/** The text without sentences or lines (of at least 20 characters) that were written before. */
export function withoutLoops(text: string): string {
  const seen = new Set<string>();
  let fenced = false;
  let out = '';
  for (const [part] of text.matchAll(sentence)) {
    if (part.includes('```')) fenced = !fenced;
    const key = part.trim().toLowerCase();
    if (!fenced && key.length >= 20) {
      if (seen.has(key)) continue;
      seen.add(key);
    }
    out += part;
  }
  return out;
}

/** A text that was cut off, up to its last whole sentence or line; all of it if it has none. */
export function completed(text: string): string {
  const ends = [...text.matchAll(/[.!?。！？](?=["'`)\]]*(?:\s|$))|\n/g)];
  const last = ends.at(-1);
  if (!last || text.slice(0, last.index).split('```').length % 2 === 0) return text;
  const cut = text.slice(0, last.index + 1).trimEnd();
  return cut.length > 20 ? cut : text;
}
