/** What opening a file that should not be accepted says. */
import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import { checkCheckpoint, openCheckpoint } from '../../src/convert/checkpoint/index.js';

let next = 0;

/** Opens, checks and reads the tokenizer of a file of these bytes; gives the error, fails where there is none. */
export async function refusalOf(folder: string, bytes: Uint8Array): Promise<LongviewError> {
  const path = join(folder, `bad-${next++}.gguf`);
  await writeFile(path, bytes);
  try {
    const checkpoint = await openCheckpoint(path);
    try {
      checkCheckpoint(checkpoint);
      await checkpoint.tokenizer();
    } finally {
      await checkpoint.close();
    }
  } catch (error) {
    assert.ok(error instanceof LongviewError, String(error));
    assert.ok(!error.message.includes('\n'), error.message);
    return error;
  } finally {
    await rm(path);
  }
  throw new assert.AssertionError({ message: 'the file was accepted' });
}
