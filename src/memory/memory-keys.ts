/** Keys of memories, as the settings of a workspace make them. Never looks into the store. */
import { textVersion } from './documents/index.js';
import { readingSettings, type MemorySettings } from './settings.js';
import { fileMemoryKey, type MemoryKey } from './store/index.js';

/** Key of the memory of a text with this hash that stands in the file at `path`. */
export function memoryKeyOf(path: string, contentHash: string, model: string, settings: MemorySettings): MemoryKey {
  return fileMemoryKey({ path, contentHash, model, settings: readingSettings(settings, path) });
}

/** What the keys of a file's memories by a model and its settings end with. */
export function memoryEndings(model: string, settings: MemorySettings): (path: string) => string {
  // The same for all files that are their own text.
  const known = new Map<string | undefined, string>();
  return path => {
    const version = textVersion(path);
    const ending = known.get(version) ?? endingOf(memoryKeyOf(path, '', model, settings));
    known.set(version, ending);
    return ending;
  };
}

/** Key of the same text's memory by another model or with other settings. */
export function withEnding(key: MemoryKey, ending: string): MemoryKey {
  return key.slice(0, -endingOf(key).length) + ending;
}

function endingOf(key: MemoryKey): string {
  return key.slice(key.lastIndexOf('.', key.lastIndexOf('.') - 1));
}
