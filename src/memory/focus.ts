/**
 * The lines of a recalled place that a question's attention finds most: what is shown of a place that is too long to show.
 * The score is the first one of `rank.ts`, on lines instead of blocks. Never reads files.
 */
import type { RecallParameters } from '../engine/index.js';
import type { Block } from './block.js';
import { attentionScore } from './rank.js';
import type { TextMass } from './text-mass.js';

export const FOCUS_LINES = 8;

/** The best neighbouring lines of a block, the first of equal ones; none where it has no more than those. */
export function focusOf(block: Block, mass: TextMass, parameters: RecallParameters): Block | undefined {
  if (parameters.weight.length === 0 || block.endLine - block.startLine < FOCUS_LINES) return undefined;
  let focus: Block | undefined;
  let most = -Infinity;
  for (let startLine = block.startLine; startLine + FOCUS_LINES - 1 <= block.endLine; startLine++) {
    const lines = { startLine, endLine: startLine + FOCUS_LINES - 1 };
    const score = attentionScore(mass, lines, parameters);
    if (score > most) [focus, most] = [lines, score];
  }
  return focus;
}
