/** Lets files stand on memories that are there already, e.g. imported ones; the others stay as they are. Reads none into memory. */
import { LongviewError } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import type { ReadParts } from './read-file.js';
import { readFiles } from './read-files.js';

export async function lookUpFiles(paths: readonly string[], parts: Omit<ReadParts, 'engine'>): Promise<void> {
  const needed = new LongviewError('not-found', 'No memory of this content.');
  const engine = (): Promise<Engine> => Promise.reject(needed);
  const total = paths.length;
  for (const [done, path] of paths.entries()) {
    parts.onProgress?.({ task: 'Looking up memories', done, total, unit: 'files', item: path });
    await readFiles([path], { ...parts, engine, onProgress: undefined }).catch((error: unknown) => {
      if (error !== needed) throw error;
    });
  }
}
