/** Keys of memories, as the settings of a workspace make them. Never looks into the store. */
import { textVersion } from './documents/index.js';
import { readingSettings, type Coarseness, type MemorySettings } from './settings.js';
import { fileMemoryKey, type MemoryKey } from './store/index.js';

export const COARSENESSES: readonly Coarseness[] = [0, 1, 2, 3];

/** Key of the memory of a text with this hash that stands in the file at `path`. */
export function memoryKeyOf(
  path: string,
  contentHash: string,
  model: string,
  settings: MemorySettings,
  level: Coarseness = 0,
): MemoryKey {
  return fileMemoryKey({ path, contentHash, model, settings: readingSettings(settings, path, level) });
}

/** What the keys of a file's memories by a model and its settings end with. */
export function memoryEndings(model: string, settings: MemorySettings): (path: string, level?: Coarseness) => string {
  // The same for all files that are their own text.
  const known = new Map<string, string>();
  return (path, level = 0) => {
    const id = `${level} ${textVersion(path) ?? ''}`;
    const ending = known.get(id) ?? endingOf(memoryKeyOf(path, '', model, settings, level));
    known.set(id, ending);
    return ending;
  };
}

/** How coarse the memory of a key is, or undefined where it is of another model or made with other settings. */
export function coarsenessOf(
  key: MemoryKey,
  path: string,
  endings: (path: string, level?: Coarseness) => string,
): Coarseness | undefined {
  return COARSENESSES.find(level => key.endsWith(endings(path, level)));
}

/** Key of the same text's memory by another model or with other settings. */
export function withEnding(key: MemoryKey, ending: string): MemoryKey {
  return key.slice(0, -endingOf(key).length) + ending;
}

function endingOf(key: MemoryKey): string {
  return key.slice(key.lastIndexOf('.', key.lastIndexOf('.') - 1));
}
