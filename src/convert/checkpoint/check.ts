/** Holds a checkpoint's tensors against its config before any work is spent on it. Reads no tensor data. */
import { LongviewError, quoted } from '../../base/index.js';
import type { Checkpoint } from './checkpoint.js';
import { expectedTensors, unusedBackboneTensors } from './names.js';

/**
 * Throws `bad-format` for the first tensor that is missing or has another shape than the config says, or that the
 * config has no place for (a bias, an adapter: leaving it out would change the model); `unsupported` for one whose
 * type cannot be read.
 */
export function checkCheckpoint(checkpoint: Checkpoint): void {
  const expected = expectedTensors(checkpoint.config);
  for (const [name, shape] of expected) {
    const found = checkpoint.tensor(name).shape;
    if (found.length !== shape.length || found.some((size, i) => size !== shape[i])) {
      throw new LongviewError(
        'bad-format',
        `${checkpoint.origin.path}: ${name} has shape [${found.join(', ')}], its config says [${shape.join(', ')}].`,
      );
    }
  }
  const { config } = checkpoint;
  const unused = config.family === 'rwkv7backbone' ? unusedBackboneTensors(config) : undefined;
  for (const name of checkpoint.tensorNames) {
    if (expected.has(name) || (unused ? unused.has(name) : isDerived(name, checkpoint))) continue;
    throw new LongviewError(
      'unsupported',
      `${checkpoint.origin.path}: tensor ${quoted(name)} has no place in this ${config.family} model.`,
    );
  }
}

/** Tensors that repeat what a decoder's config says: a tied head stored all the same, rotary frequencies of old files. */
function isDerived(name: string, { config }: Checkpoint): boolean {
  const tiedHead = config.family !== 'rwkv7backbone' && config.tiedHead;
  return (tiedHead && name === 'lm_head.weight') || name.endsWith('.rotary_emb.inv_freq');
}
