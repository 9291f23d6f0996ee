/** Which line each token of a text lies on. Pure. */

/**
 * ends uint32 [T] (UTF-16 end offsets) → lines uint32 [T], counted from 1. A token lies where its first character that is
 * not white space lies; a token of white space alone, where the next character is.
 */
export function linesOfTokens(text: string, ends: Uint32Array): Uint32Array {
  const lines = new Uint32Array(ends.length);
  let line = 1;
  let counted = 0;
  let start = 0;
  for (let token = 0; token < ends.length; token++) {
    const end = ends[token]!;
    let place = start;
    while (place < end && isWhiteSpace(text.charCodeAt(place))) place++;
    place = Math.min(place, Math.max(0, text.length - 1));
    for (; counted < place; counted++) if (text.charCodeAt(counted) === 10) line++;
    lines[token] = line;
    start = end;
  }
  return lines;
}

function isWhiteSpace(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13) || code === 0xa0;
}
