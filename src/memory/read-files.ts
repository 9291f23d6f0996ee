/**
 * Reads files into memories, one after another (`read-file.ts`). A file that cannot be read gets a row with the reason and
 * the run goes on. Never decides which files to read.
 */
import { LongviewError, codeOf, messageOf, throwIfCancelled } from '../base/index.js';
import { NOT_FOR_THE_MODEL } from './ledger-scan.js';
import { readFile, skipFile, type ReadParts } from './read-file.js';
import { TokenProgress } from './token-progress.js';

export interface ReadCounts {
  read: number;
  failed: number;
  tokens: number;
}

const MOST_FAILURES_IN_A_ROW = 3;

export async function readFiles(paths: readonly string[], parts: ReadParts): Promise<ReadCounts> {
  const { store, signal } = parts;
  const counts: ReadCounts = { read: 0, failed: 0, tokens: 0 };
  const progress = new TokenProgress(
    paths.map(path => store.ledger.get(path)?.size ?? 0),
    parts.onProgress,
  );
  let failuresInARow = 0;
  for (const [at, path] of paths.entries()) {
    throwIfCancelled(signal);
    parts.onFile?.(path);
    const onTokens = (tokens: number): void => progress.within(at, tokens, path);
    try {
      const found = await readFile(path, parts, onTokens).catch((error: unknown) => {
        // The engine may have died of something else; it starts anew.
        if (signal?.aborted || codeOf(error) !== 'engine-crashed') throw error;
        return readFile(path, parts, onTokens);
      });
      if (found === undefined) counts.failed++;
      else if (found.read > 0) {
        counts.read++;
        counts.tokens += found.read;
      }
      progress.after(at, found && found.read > 0 ? found.tokens : 0, path);
      failuresInARow = 0;
    } catch (error) {
      if (signal?.aborted || !isOfOneFile(error) || ++failuresInARow >= MOST_FAILURES_IN_A_ROW) throw error;
      // Without an engine no other file fares better, and this one is not to blame.
      await parts.engine();
      counts.failed++;
      parts.log('warning', `${path} could not be read: ${messageOf(error)}`);
      await skipFile(path, NOT_FOR_THE_MODEL, store);
      progress.after(at, 0, path);
    } finally {
      parts.onFile?.(undefined);
    }
  }
  return counts;
}

/** A failure that another file may not have; a full disk or a missing permission would come again with the next. */
function isOfOneFile(error: unknown): boolean {
  const code = codeOf(error);
  if (error instanceof LongviewError && code === 'internal') return true;
  return code === 'engine-crashed' || code === 'out-of-memory' || code === 'unsupported' || code === 'bad-format';
}
