/**
 * Checkpoint → weights file: layers fused and put in the order that the forward graph wants, quantised row block by row
 * block, and once more as int8 rows. Rotary pairs become adjacent. Never holds more than one fused layer's scales or int8
 * weights and one block of rows.
 */
import { LongviewError } from '../base/index.js';
import type { Quantisation } from '../engine/graph-contract.js';
import type { Checkpoint, DecoderConfig } from './checkpoint/index.js';
import { floatsToHalves, rotaryFrequencies } from './checkpoint/index.js';
import type { Int8Layer, StoredLayer, StoredModel } from './graphs/forward-graph.js';
import type { WeightPlace } from '../onnx/index.js';
import type { Int8Linear, StoredLinear } from './graphs/linear.js';
import { BLOCK, OUTLIER_SCALE } from './graphs/linear.js';
import type { OutlierChannels } from './outlier-channels.js';
import type { Blocks } from './quantise.js';
import { quantise4, quantise8, takeOver } from './quantise.js';
import { Steps, weightCount } from './steps.js';
import type { StepOptions } from './steps.js';
import type { WeightsFile } from './weights-file.js';

/** Values of one row block, about. */
const BLOCK_VALUES = 1 << 22;

/** Order of rows within a head: identity, or half-split pairs (i, i + d/2) made adjacent (2i, 2i + 1). */
type RowOrder = 'as is' | 'make pairs adjacent';

export interface Part {
  readonly tensor: string;
  readonly rows: number;
  readonly order: RowOrder;
}

export async function storeWeights(
  checkpoint: Checkpoint,
  config: DecoderConfig,
  quantisation: Quantisation,
  file: WeightsFile,
  outliers: OutlierChannels,
  options: StepOptions = {},
): Promise<StoredModel> {
  const { layers, width, heads, keyHeads, headSize, ffnWidth, vocabulary } = config;
  const int8 = hasInt8(config, quantisation);
  const again = int8 ? layers * width * ((2 * heads + 2 * keyHeads) * headSize + 3 * ffnWidth) : 0;
  const steps = new Steps('Converting the model', weightCount(checkpoint) + again, options);
  const writer = new LinearWriter(checkpoint, file, headSize, count => steps.worked(count));
  const rotary: RowOrder = checkpoint.rotaryPairs === 'half' ? 'make pairs adjacent' : 'as is';
  const table = tableKind(quantisation);
  const embedding = await writer.linear('embedding', width, table, [part('model.embed_tokens.weight', vocabulary)]);
  const head = config.tiedHead
    ? embedding
    : await writer.linear('head', width, table, [part('lm_head.weight', vocabulary)]);

  const stored: StoredLayer[] = [];
  for (let i = 0; i < layers; i++) {
    const name = (rest: string): string => `model.layers.${i}.${rest}`;
    const projections = (kind: 'weight' | 'bias'): Part[] => [
      part(name(`self_attn.q_proj.${kind}`), heads * headSize, rotary),
      part(name(`self_attn.k_proj.${kind}`), keyHeads * headSize, rotary),
      part(name(`self_attn.v_proj.${kind}`), keyHeads * headSize),
    ];
    const parts: LayerParts = {
      attentionNorm: [part(name('input_layernorm.weight'), width)],
      qkv: projections('weight'),
      output: [part(name('self_attn.o_proj.weight'), width)],
      mlpNorm: [part(name('post_attention_layernorm.weight'), width)],
      gateUp: [part(name('mlp.gate_proj.weight'), ffnWidth), part(name('mlp.up_proj.weight'), ffnWidth)],
      down: [part(name('mlp.down_proj.weight'), width)],
    };
    const inputs = { qkv: width, output: heads * headSize, gateUp: width, down: ffnWidth };
    stored.push({
      attentionNorm: await writer.vector(parts.attentionNorm),
      qkv: await writer.linear(`layer.${i}.qkv`, inputs.qkv, quantisation, parts.qkv),
      qkvBias: config.qkvBias ? await writer.vector(projections('bias')) : undefined,
      queryNorm: config.qkNorm
        ? await writer.vector([part(name('self_attn.q_norm.weight'), headSize, rotary)])
        : undefined,
      keyNorm: config.qkNorm
        ? await writer.vector([part(name('self_attn.k_norm.weight'), headSize, rotary)])
        : undefined,
      output: await writer.linear(`layer.${i}.output`, inputs.output, quantisation, parts.output),
      mlpNorm: await writer.vector(parts.mlpNorm),
      gateUp: await writer.linear(`layer.${i}.gate_up`, inputs.gateUp, quantisation, parts.gateUp),
      down: await writer.linear(`layer.${i}.down`, inputs.down, quantisation, parts.down),
      int8: int8 ? await int8Layer(writer, i, parts, inputs, outliers) : undefined,
    });
  }
  const finalNorm = await writer.vector([part('model.norm.weight', width)]);
  const frequencies = [...rotaryFrequencies(config)];
  const sizes = { layers, kvmLayers: layers, width, heads, keyHeads, headSize, vocabulary };
  const architecture = { family: config.family, ...sizes, frequencies };
  return { architecture, normEpsilon: config.normEpsilon, embedding, layers: stored, finalNorm, head };
}

/** Whether layers are stored as int8 rows too: where all are rounded anyway. */
export function hasInt8(config: Checkpoint['config'], quantisation: Quantisation): config is DecoderConfig {
  if (config.family === 'rwkv7backbone' || (quantisation !== 'q4' && quantisation !== 'q8')) return false;
  return [config.width, config.heads * config.headSize, config.ffnWidth].every(inputs => inputs % BLOCK === 0);
}

/** What a layer's matrices and gains are made of. */
type LayerParts = Readonly<Record<keyof Int8Layer, readonly Part[]>>;

/** The gain, or the output of the layer before, of each outlier channel is made smaller once. */
async function int8Layer(
  writer: LinearWriter,
  layer: number,
  parts: LayerParts,
  inputs: { readonly qkv: number; readonly output: number; readonly gateUp: number; readonly down: number },
  outliers: OutlierChannels,
): Promise<Int8Layer> {
  const [qkv, gateUp, down] = [outliers.of(layer, 'qkv'), outliers.of(layer, 'gateUp'), outliers.of(layer, 'down')];
  // Hidden value = activation of gate times up.
  const smaller = down.map(channel => inputs.down + channel);
  const linear = (name: string, size: number, of: readonly Part[], channels: readonly number[]): Promise<Int8Linear> =>
    writer.int8(`layer.${layer}.${name}`, size, of, { channels, smaller: name === 'gate_up' ? smaller : [] });
  return {
    attentionNorm: await writer.vector(parts.attentionNorm, qkv),
    qkv: await linear('qkv', inputs.qkv, parts.qkv, qkv),
    output: await linear('output', inputs.output, parts.output, []),
    mlpNorm: await writer.vector(parts.mlpNorm, gateUp),
    gateUp: await linear('gate_up', inputs.gateUp, parts.gateUp, gateUp),
    down: await linear('down', inputs.down, parts.down, down),
  };
}

/** How embedding and head are stored: 4 bits are too few for them. */
export function tableKind(quantisation: Quantisation): Exclude<Quantisation, 'q4'> {
  return quantisation === 'q4' ? 'q8' : quantisation;
}

export function part(tensor: string, rows: number, order: RowOrder = 'as is'): Part {
  return { tensor, rows, order };
}

/** Writes linear layers and vectors, each made of rows of one or more tensors. */
export class LinearWriter {
  constructor(
    private readonly checkpoint: Checkpoint,
    private readonly file: WeightsFile,
    private readonly headSize: number,
    /** Told how many weights were written; may throw. */
    private readonly onWritten: (weights: number) => void,
  ) {}

  /** Biases and gains, one after another; those of the channels `smaller` divided by `OUTLIER_SCALE`. */
  async vector(parts: readonly Part[], smaller: readonly number[] = []): Promise<WeightPlace> {
    const values: Float32Array[] = [];
    for (const { tensor, order } of parts)
      values.push(this.reorder((await this.checkpoint.readFloat32(tensor)).slice(), 1, order));
    for (const channel of smaller) values[0]![channel]! /= OUTLIER_SCALE;
    return this.file.write([parts.reduce((sum, { rows }) => sum + rows, 0)], values);
  }

  async linear(name: string, inputs: number, kind: Quantisation, parts: readonly Part[]): Promise<StoredLinear> {
    const outputs = parts.reduce((sum, { rows }) => sum + rows, 0);
    const shape = { name, inputs, outputs };
    if (kind === 'f16') {
      return { ...shape, kind, weight: await this.file.write([outputs, inputs], this.halfRows(parts, inputs)) };
    }
    if (kind === 'f32' || inputs % BLOCK !== 0) {
      return { ...shape, kind: 'f32', weight: await this.file.write([outputs, inputs], this.floatRows(parts, inputs)) };
    }
    const perRow = inputs / BLOCK;
    const scales = new Float32Array(outputs * perRow);
    const offsets = new Float32Array(kind === 'q4' ? outputs * perRow : 0);
    const blockBytes = kind === 'q8' ? BLOCK : BLOCK / 2;
    const packed = this.packedRows(parts, inputs, kind, (row, blocks) => {
      scales.set(blocks.scales, row * perRow);
      if (!blocks.offsets) return;
      // [inputs/32, outputs]: the right side of a MatMul with the means of the input's blocks.
      for (let i = 0; i < blocks.offsets.length; i++) {
        offsets[(i % perRow) * outputs + row + Math.floor(i / perRow)] = BLOCK * blocks.offsets[i]!;
      }
    });
    const blocks = await this.file.write([outputs, perRow, blockBytes], packed);
    const scalePlace = await this.file.write([outputs * perRow], [scales]);
    if (kind === 'q8') return { ...shape, kind, blocks, scales: scalePlace };
    const offsetPlace = await this.file.write([perRow, outputs], [offsets]);
    return { ...shape, kind, blocks, scales: scalePlace, offsets: offsetPlace };
  }

  /** `channels`: outliers among the inputs; `smaller`: outputs divided by `OUTLIER_SCALE`. Holds the whole layer in int8. */
  async int8(
    name: string,
    inputs: number,
    parts: readonly Part[],
    { channels, smaller }: { readonly channels: readonly number[]; readonly smaller: readonly number[] },
  ): Promise<Int8Linear> {
    const outputs = parts.reduce((sum, { rows }) => sum + rows, 0);
    const weight = new Int8Array(inputs * outputs);
    const scales = new Float32Array(outputs);
    const apart = new Float32Array(channels.length * outputs);
    const [isApart, isSmaller] = [new Set(channels), new Set(smaller)];
    let output = 0;
    for await (const rows of this.floatRows(parts, inputs)) {
      for (let start = 0; start < rows.length; start += inputs, output++) {
        const row = Float32Array.from(rows.subarray(start, start + inputs), (value, i) => (isApart.has(i) ? 0 : value));
        const factor = isSmaller.has(output) ? 1 / OUTLIER_SCALE : 1;
        const scale = row.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) / 127;
        scales[output] = scale * factor;
        for (let i = 0; scale > 0 && i < inputs; i++) weight[i * outputs + output] = Math.round(row[i]! / scale);
        channels.forEach((channel, m) => {
          apart[m * outputs + output] = OUTLIER_SCALE * factor * rows[start + channel]!;
        });
      }
    }
    const stored = {
      name,
      weight: await this.file.write([inputs, outputs], [weight]),
      scales: await this.file.write([outputs], [scales]),
    };
    if (channels.length === 0) return stored;
    return { ...stored, outliers: { channels, weight: await this.file.write([channels.length, outputs], [apart]) } };
  }

  private async *floatRows(parts: readonly Part[], inputs: number): AsyncGenerator<Float32Array> {
    for (const { tensor, rows, order } of parts) {
      for (const [start, count] of this.rowBlocks(rows, inputs)) {
        yield this.reorder(await this.checkpoint.readFloat32(tensor, start, count), inputs, order);
        this.onWritten(count * inputs);
      }
    }
  }

  /** Throws `unsupported` where a weight is beyond float16. */
  private async *halfRows(parts: readonly Part[], inputs: number): AsyncGenerator<Uint16Array> {
    for await (const rows of this.floatRows(parts, inputs)) {
      const halves = floatsToHalves(rows);
      if (!halves) {
        const tensors = parts.map(({ tensor }) => tensor).join(', ');
        throw new LongviewError('unsupported', `${tensors} holds values beyond float16: choose f32, q8 or q4.`);
      }
      yield halves;
    }
  }

  private async *packedRows(
    parts: readonly Part[],
    inputs: number,
    kind: 'q8' | 'q4',
    keep: (firstRow: number, blocks: Blocks) => void,
  ): AsyncGenerator<Uint8Array> {
    let row = 0;
    for (const { tensor, rows, order } of parts) {
      for (const [start, count] of this.rowBlocks(rows, inputs)) {
        const stored = order === 'as is' ? await this.checkpoint.readBlocks(tensor, start, count) : undefined;
        const blocks =
          (stored && takeOver(stored, kind)) ??
          (kind === 'q8' ? quantise8 : quantise4)(
            this.reorder(await this.checkpoint.readFloat32(tensor, start, count), inputs, order),
          );
        keep(row, blocks);
        row += count;
        yield blocks.blocks;
        this.onWritten(count * inputs);
      }
    }
  }

  /** Whole heads, so that rows can be reordered within a block. */
  private *rowBlocks(rows: number, inputs: number): Generator<[start: number, count: number]> {
    const step = Math.max(1, Math.floor(BLOCK_VALUES / inputs / this.headSize)) * this.headSize;
    for (let start = 0; start < rows; start += step) yield [start, Math.min(step, rows - start)];
  }

  /** values [rows,inputs]. */
  private reorder(values: Float32Array, inputs: number, order: RowOrder): Float32Array {
    if (order === 'as is') return values;
    const half = this.headSize / 2;
    const result = new Float32Array(values.length);
    for (let row = 0; row < values.length / inputs; row++) {
      const inHead = row % this.headSize;
      const from = row - inHead + (inHead % 2 === 0 ? inHead / 2 : half + (inHead - 1) / 2);
      result.set(values.subarray(from * inputs, (from + 1) * inputs), row * inputs);
    }
    return result;
  }
}
