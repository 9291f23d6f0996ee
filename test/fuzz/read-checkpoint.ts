/** All that a conversion asks of a checkpoint before and beside the weights: open, check, a row of each tensor, tokenizer. */
import { LongviewError } from '../../src/base/index.js';
import { checkCheckpoint, openCheckpoint } from '../../src/convert/checkpoint/index.js';
import { TextTokenizer } from '../../src/engine/tokenizer.js';

export async function readCheckpoint(path: string): Promise<void> {
  const checkpoint = await openCheckpoint(path);
  try {
    let complaint: unknown;
    try {
      checkCheckpoint(checkpoint);
    } catch (error) {
      complaint = error;
    }
    // Rows are read although the check complained: its work must not be what keeps reading safe.
    for (const name of checkpoint.tensorNames) {
      const { shape } = checkpoint.tensor(name);
      const count = shape.length > 1 ? Math.min(1, shape[0]!) : undefined;
      await checkpoint.readFloat32(name, 0, count);
      await checkpoint.readBlocks(name, 0, count);
    }
    if (complaint !== undefined) throw complaint as Error;
    try {
      const { tokenizerJson, tokenizerConfig } = await checkpoint.tokenizer();
      TextTokenizer.load(tokenizerJson, tokenizerConfig).encode('ab a1 \u00e9');
    } catch (error) {
      if (!(error instanceof LongviewError && error.code === 'not-found')) throw error;
    }
  } finally {
    await checkpoint.close();
  }
}
