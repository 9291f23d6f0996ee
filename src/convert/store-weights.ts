/**
 * Checkpoint → weights file: layers fused and put in the order that the forward graph wants, quantised row block by row
 * block. Rotary pairs become adjacent. Never holds more than one fused layer's scales and one block of rows.
 */
import { LongviewError } from '../base/index.js';
import type { Quantisation } from '../engine/graph-contract.js';
import type { Checkpoint, DecoderConfig } from './checkpoint/index.js';
import { floatsToHalves, rotaryFrequencies } from './checkpoint/index.js';
import type { StoredLayer, StoredModel } from './graphs/forward-graph.js';
import type { WeightPlace } from '../onnx/index.js';
import type { StoredLinear } from './graphs/linear.js';
import { BLOCK } from './graphs/linear.js';
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
  options: StepOptions = {},
): Promise<StoredModel> {
  const { layers, width, heads, keyHeads, headSize, ffnWidth, vocabulary } = config;
  const steps = new Steps('Converting the model', weightCount(checkpoint), options);
  const writer = new LinearWriter(checkpoint, file, headSize, count => steps.worked(count));
  const table = tableKind(quantisation);
  const embedding = await writer.linear('embedding', width, table, [part('model.embed_tokens.weight', vocabulary)]);
  const head = config.tiedHead
    ? embedding
    : await writer.linear('head', width, table, [part('lm_head.weight', vocabulary)]);

  const stored: StoredLayer[] = [];
  for (let i = 0; i < layers; i++) {
    const { attentionNorm, qkv, qkvBias, queryNorm, keyNorm, output, mlpNorm, gateUp, down } = layerParts(
      checkpoint,
      config,
      i,
    );
    const linear = (name: string, inputs: number, parts: readonly Part[]): Promise<StoredLinear> =>
      writer.linear(`layer.${i}.${name}`, inputs, quantisation, parts);
    stored.push({
      attentionNorm: await writer.vector(attentionNorm),
      qkv: await linear('qkv', width, qkv),
      qkvBias: config.qkvBias ? await writer.vector(qkvBias) : undefined,
      queryNorm: config.qkNorm ? await writer.vector(queryNorm) : undefined,
      keyNorm: config.qkNorm ? await writer.vector(keyNorm) : undefined,
      output: await linear('output', heads * headSize, output),
      mlpNorm: await writer.vector(mlpNorm),
      gateUp: await linear('gate_up', width, gateUp),
      down: await linear('down', ffnWidth, down),
    });
  }
  const finalNorm = await writer.vector([part('model.norm.weight', width)]);
  const frequencies = [...rotaryFrequencies(config)];
  const sizes = { layers, kvmLayers: layers, width, heads, keyHeads, headSize, vocabulary };
  const architecture = { family: config.family, ...sizes, frequencies };
  return { architecture, normEpsilon: config.normEpsilon, embedding, layers: stored, finalNorm, head };
}

/** Which tensors each matrix, bias and gain of a layer is made of, whether the checkpoint has them or not. */
export function layerParts(
  { rotaryPairs }: Checkpoint,
  { width, heads, keyHeads, headSize, ffnWidth }: DecoderConfig,
  layer: number,
): LayerParts {
  const rotary: RowOrder = rotaryPairs === 'half' ? 'make pairs adjacent' : 'as is';
  const named = (tensor: string, rows: number, order?: RowOrder): Part =>
    part(`model.layers.${layer}.${tensor}`, rows, order);
  const projections = (kind: 'weight' | 'bias'): Part[] => [
    named(`self_attn.q_proj.${kind}`, heads * headSize, rotary),
    named(`self_attn.k_proj.${kind}`, keyHeads * headSize, rotary),
    named(`self_attn.v_proj.${kind}`, keyHeads * headSize),
  ];
  return {
    attentionNorm: [named('input_layernorm.weight', width)],
    qkv: projections('weight'),
    qkvBias: projections('bias'),
    queryNorm: [named('self_attn.q_norm.weight', headSize, rotary)],
    keyNorm: [named('self_attn.k_norm.weight', headSize, rotary)],
    output: [named('self_attn.o_proj.weight', width)],
    mlpNorm: [named('post_attention_layernorm.weight', width)],
    gateUp: [named('mlp.gate_proj.weight', ffnWidth), named('mlp.up_proj.weight', ffnWidth)],
    down: [named('mlp.down_proj.weight', width)],
  };
}

type LayerParts = Readonly<Record<keyof StoredLayer, readonly Part[]>>;

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

  /** Biases and gains, one after another. */
  async vector(parts: readonly Part[]): Promise<WeightPlace> {
    const values: Float32Array[] = [];
    for (const { tensor, order } of parts)
      values.push(this.reorder(await this.checkpoint.readFloat32(tensor), 1, order));
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

  /** Blocks of rows [rows,inputs], in order. */
  async *floatRows(parts: readonly Part[], inputs: number): AsyncGenerator<Float32Array> {
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
