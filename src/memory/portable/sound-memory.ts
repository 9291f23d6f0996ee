/**
 * Whether a memory that came from elsewhere can do no harm: numbers that are numbers, sizes in proportion, the model's shape.
 * That its numbers are those which reading the file gives cannot be told without reading it.
 */
import type { FileMemory } from '../store/index.js';

/** What all memories of a model have in common. */
export interface MemoryShape {
  readonly groups: number;
  readonly headSize: number;
  /** Key heads of recall; not known before a memory was seen. */
  readonly recallHeads?: number;
}

export function shapeOf({ gist, recall }: FileMemory): MemoryShape {
  return { groups: gist.groups, headSize: gist.headSize, recallHeads: recall.heads };
}

/** No file that is read has more. */
const MOST_LINES = 50_000_000;
/** Lines that a memory may reach, for each of its bytes and beside them: many blank lines can be one token. */
const LINES_PER_BYTE = 8;
const LINES_OF_ANY = 50_000;

/** Why a memory of so many bytes is not to be used; `undefined` where nothing speaks against it. */
export function faultOf(memory: FileMemory, bytes: number, shape: MemoryShape | undefined): string | undefined {
  const { gist, recall, provenance, tokens } = memory;
  if (shape && (gist.groups !== shape.groups || gist.headSize !== shape.headSize)) return 'of another model';
  if (shape?.recallHeads !== undefined && recall.heads !== shape.recallHeads) return 'of another model';
  if (recall.headSize !== gist.headSize) return 'of another model';
  if (tokens < 1 || gist.slots > bytes || recall.slots > bytes) return 'sizes out of proportion';
  const floats = [gist.keyScales, gist.valueScales, gist.counts, gist.keyRadii, gist.valueRadii];
  if (![...floats, recall.scales, recall.counts].every(isFinite)) return 'numbers that are none';
  if (![gist.counts, recall.counts].every(counts => counts.every(count => count >= 0))) return 'counts below zero';
  const most = Math.min(MOST_LINES, LINES_OF_ANY + LINES_PER_BYTE * bytes);
  const { lines, spans } = provenance;
  const isInFile = (line: number, at: number): boolean => line >= 1 && line + (spans?.[at] ?? 1) - 1 <= most;
  if (!lines.every(isInFile)) return 'lines that no file has';
  return undefined;
}

function isFinite(values: Float32Array): boolean {
  return values.every(Number.isFinite);
}
