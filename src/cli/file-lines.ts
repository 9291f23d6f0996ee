/** The lines of a file that a command was given a place of, as they are read into a memory: any encoding, any line ends, documents. */
import { LongviewError, escaped } from '../base/index.js';
import { DEFAULT_SETTINGS, filesOf, linesOf } from '../memory/index.js';

/** Of `path` in `root`, a real path. Throws `usage` with the reason where the file has no text. */
export async function linesOfFile(root: string, path: string, signal: AbortSignal): Promise<string[]> {
  const source = await filesOf(root, DEFAULT_SETTINGS).read(path, signal);
  if (!source.ok) throw new LongviewError('usage', `${escaped(path)} has no lines to be read: ${source.reason}.`);
  return linesOf(source.value.text);
}
