/**
 * Layers once more, as int8 weights with a scale an output: for chunks on the CPU (graphs/linear.ts, Int8Linear). From the
 * checkpoint's own values, so rounded once. Never holds more than one fused layer's int8 weights and one block of rows.
 */
import type { Quantisation } from '../engine/graph-contract.js';
import type { WeightPlace } from '../onnx/index.js';
import type { Checkpoint, DecoderConfig } from './checkpoint/index.js';
import type { Int8Layer } from './graphs/forward-graph.js';
import type { Int8Linear } from './graphs/linear.js';
import { BLOCK, OUTLIER_SCALE } from './graphs/linear.js';
import type { OutlierChannels } from './outlier-channels.js';
import { Steps } from './steps.js';
import type { StepOptions } from './steps.js';
import type { Part } from './store-weights.js';
import { LinearWriter, layerParts } from './store-weights.js';
import type { WeightsFile } from './weights-file.js';

/** Whether a model has them: where all its layers are rounded anyway. */
export function hasInt8({ width, heads, headSize, ffnWidth }: DecoderConfig, quantisation: Quantisation): boolean {
  if (quantisation !== 'q4' && quantisation !== 'q8') return false;
  return [width, heads * headSize, ffnWidth].every(inputs => inputs % BLOCK === 0);
}

export async function storeInt8Layers(
  checkpoint: Checkpoint,
  config: DecoderConfig,
  outliers: OutlierChannels,
  file: WeightsFile,
  options: StepOptions = {},
): Promise<Int8Layer[]> {
  const { layers, width, heads, keyHeads, headSize, ffnWidth } = config;
  const weights = layers * width * (2 * (heads + keyHeads) * headSize + 3 * ffnWidth);
  const steps = new Steps('Converting the model for reading', weights, options);
  const writer = new Int8Writer(
    checkpoint,
    new LinearWriter(checkpoint, file, headSize, count => steps.worked(count)),
    file,
  );
  const stored: Int8Layer[] = [];
  for (let i = 0; i < layers; i++) {
    const parts = layerParts(checkpoint, config, i);
    const [qkv, gateUp, down] = [outliers.of(i, 'qkv'), outliers.of(i, 'gateUp'), outliers.of(i, 'down')];
    stored.push({
      attentionNorm: await writer.gain(parts.attentionNorm, qkv),
      qkv: await writer.linear(`layer.${i}.qkv`, width, parts.qkv, { outliers: qkv }),
      output: await writer.linear(`layer.${i}.output`, heads * headSize, parts.output),
      mlpNorm: await writer.gain(parts.mlpNorm, gateUp),
      gateUp: await writer.linear(`layer.${i}.gate_up`, width, parts.gateUp, {
        outliers: gateUp,
        // A hidden value is the activation of gate times up, whose rows come second.
        smaller: down.map(channel => ffnWidth + channel),
      }),
      down: await writer.linear(`layer.${i}.down`, ffnWidth, parts.down, { outliers: down }),
    });
  }
  return stored;
}

/** `outliers`: channels among the inputs; `smaller`: outputs to be divided by `OUTLIER_SCALE`. */
interface Channels {
  readonly outliers?: readonly number[];
  readonly smaller?: readonly number[];
}

class Int8Writer {
  constructor(
    private readonly checkpoint: Checkpoint,
    private readonly rows: LinearWriter,
    private readonly file: WeightsFile,
  ) {}

  async gain([part]: readonly Part[], outliers: readonly number[]): Promise<WeightPlace> {
    const gain = Float32Array.from(await this.checkpoint.readFloat32(part!.tensor));
    for (const channel of outliers) gain[channel]! /= OUTLIER_SCALE;
    return this.file.write([gain.length], [gain]);
  }

  async linear(
    name: string,
    inputs: number,
    parts: readonly Part[],
    { outliers = [], smaller = [] }: Channels = {},
  ): Promise<Int8Linear> {
    const outputs = parts.reduce((sum, { rows }) => sum + rows, 0);
    const weight = new Int8Array(inputs * outputs);
    const scales = new Float32Array(outputs);
    const inFloat = new Float32Array((outliers.length + 1) * outputs);
    const isSmaller = new Set(smaller);
    let output = 0;
    for await (const rows of this.rows.floatRows(parts, inputs)) {
      for (let start = 0; start < rows.length; start += inputs, output++) {
        const row = Float32Array.from(rows.subarray(start, start + inputs));
        const factor = isSmaller.has(output) ? 1 / OUTLIER_SCALE : 1;
        outliers.forEach((channel, m) => {
          inFloat[m * outputs + output] = OUTLIER_SCALE * factor * row[channel]!;
        });
        for (const channel of outliers) row[channel] = 0;
        const scale = row.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) / 127;
        scales[output] = scale * factor;
        let sum = 0;
        for (let i = 0; scale > 0 && i < inputs; i++) sum += weight[i * outputs + output] = Math.round(row[i]! / scale);
        inFloat[outliers.length * outputs + output] = sum * scales[output]!;
      }
    }
    return {
      name,
      weight: await this.file.write([inputs, outputs], [weight]),
      scales: await this.file.write([outputs], [scales]),
      outliers,
      inFloat: await this.file.write([outliers.length + 1, outputs], [inFloat]),
    };
  }
}
