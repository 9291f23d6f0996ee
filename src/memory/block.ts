/** A run of lines that can be shown as one place, and how runs are joined and cut. Never looks at text. */

/** Lines counted from 1, both ends included. Blocks may lie inside one another; together they cover all non-blank lines. */
export interface Block {
  readonly startLine: number;
  readonly endLine: number;
  /** The line that names it: a definition's head or a heading, below its comments; the first if not given. */
  readonly headLine?: number;
}

/** Longest block in lines; what is longer is cut further. */
export const MAX_BLOCK_LINES = 60;

/**
 * Joins neighbouring pieces (paragraphs, statements) until they are worth showing, and cuts runs that are too long.
 * `pieces` are ordered and do not overlap; a run ends at `target` lines.
 */
export function packed(pieces: readonly Block[], target: number): Block[] {
  const out: Block[] = [];
  let open: Block | undefined;
  for (const piece of pieces) {
    if (open && piece.endLine - open.startLine + 1 <= target) {
      open = { startLine: open.startLine, endLine: piece.endLine };
      continue;
    }
    if (open) out.push(open);
    open = undefined;
    if (piece.endLine - piece.startLine + 1 <= 1.5 * target) open = piece;
    else out.push(...windows(piece, target));
  }
  if (open) out.push(open);
  return out;
}

function windows(piece: Block, target: number): Block[] {
  const out: Block[] = [];
  const lines = piece.endLine - piece.startLine + 1;
  const length = Math.ceil(lines / Math.ceil(lines / target));
  for (let start = piece.startLine; start <= piece.endLine; start += length) {
    out.push({ startLine: start, endLine: Math.min(start + length - 1, piece.endLine) });
  }
  return out;
}
