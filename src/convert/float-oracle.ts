/**
 * A checkpoint's logits for a short prompt in plain float arithmetic, straight from its own tensors: what a conversion is
 * checked against. Independent of the graphs on purpose.
 */
import { backboneLogits } from './backbone-oracle.js';
import type { Checkpoint } from './checkpoint/index.js';
import { decoderLogits } from './decoder-oracle.js';
import { OracleWeights } from './oracle-arithmetic.js';
import type { InputListener } from './outlier-channels.js';
import type { StepOptions } from './steps.js';

/**
 * prompt [n], shorter than the window → logits float32 [n,V]. Reads every weight once. `onInput` hears of decoders alone.
 * Throws `usage`, `cancelled`.
 */
export async function oracleLogits(
  checkpoint: Checkpoint,
  prompt: readonly number[],
  options: StepOptions & { readonly onInput?: InputListener } = {},
): Promise<Float32Array> {
  const { config } = checkpoint;
  const weights = new OracleWeights(checkpoint, options);
  return config.family === 'rwkv7backbone'
    ? await backboneLogits(config, weights, prompt)
    : await decoderLogits(checkpoint, config, weights, prompt, options.onInput);
}
