/** Opens a checkpoint by what the path is: a .gguf file, a .safetensors file, a Hugging Face folder. Never guesses by content. */
import { stat } from 'node:fs/promises';
import { basename, dirname, extname } from 'node:path';
import { LongviewError } from '../../base/index.js';
import { ByteSource } from './byte-source.js';
import type { Checkpoint } from './checkpoint.js';
import { openGguf } from './gguf-checkpoint.js';
import { openHfFolder } from './safetensors-checkpoint.js';

/**
 * Reads headers and config only. A .safetensors file needs its config.json beside it. The caller closes the checkpoint.
 * Throws `not-found`, `usage`, `bad-format` or `unsupported`, one line each.
 */
export async function openCheckpoint(path: string): Promise<Checkpoint> {
  let isFolder: boolean;
  try {
    isFolder = (await stat(path)).isDirectory();
  } catch (error) {
    throw new LongviewError('not-found', `There is no file or folder ${path}.`, { cause: error });
  }
  if (isFolder) return openHfFolder(path);
  switch (extname(path).toLowerCase()) {
    case '.safetensors':
      return openHfFolder(dirname(path), basename(path));
    case '.gguf': {
      const source = await ByteSource.open(path);
      try {
        return await openGguf(source);
      } catch (error) {
        await source.close();
        throw error;
      }
    }
    default:
      throw new LongviewError(
        'usage',
        `${path} is no checkpoint: give a .gguf file, a .safetensors file or a folder with config.json and model.safetensors.`,
      );
  }
}
