/** Small models may write the same thing again and again: what repeats is cut. Never changes what is said once. */

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
