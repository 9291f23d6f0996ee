/**
 * A checkpoint of KVM's authors → weights file: q, k, v fused, large linear layers quantised, everything small in float32.
 * Rows stay in the checkpoint's order. Read next: graphs/backbone-graph.ts, which says what is done with them.
 */
import type { Quantisation } from '../engine/graph-contract.js';
import type { BackboneConfig, Checkpoint } from './checkpoint/index.js';
import { backboneFrequencies } from './checkpoint/index.js';
import type { StoredKvm, StoredProjection } from './graphs/backbone-attention.js';
import type { StoredNorm } from './graphs/backbone-frame.js';
import type { StoredBackbone, StoredBlock } from './graphs/backbone-graph.js';
import type { TrainedFold } from './graphs/fold-graph.js';
import type { WeightPlace } from '../onnx/index.js';
import type { StoredLinear } from './graphs/linear.js';
import type { StoredLowRank, StoredRwkv7 } from './graphs/rwkv7.js';
import { LinearWriter, part, tableKind } from './store-weights.js';
import { Steps, weightCount } from './steps.js';
import type { StepOptions } from './steps.js';
import type { WeightsFile } from './weights-file.js';

export async function storeBackbone(
  checkpoint: Checkpoint,
  config: BackboneConfig,
  quantisation: Quantisation,
  file: WeightsFile,
  options: StepOptions = {},
): Promise<StoredBackbone> {
  const steps = new Steps('Converting the model', weightCount(checkpoint), options);
  const writer = new LinearWriter(checkpoint, file, 1, count => steps.worked(count));
  const store = new BackboneStore(checkpoint, config, quantisation, writer);
  const { layers, width, heads, headSize, vocabulary, mixers } = config;
  const table = tableKind(quantisation);
  const embedding = await store.linear('embedding', 'transformer.wte.weight', vocabulary, width, table);
  const embeddingNorm = await store.norm('transformer.ln_emb', width);
  const head = await store.linear('head', 'lm_head.weight', vocabulary, width, table);
  const firstValue = config.sharesFirstValue
    ? undefined
    : await store.linear('first_value', 'transformer.h.1.attn.c_v.weight', width, width);
  const blocks: StoredBlock[] = [];
  for (let layer = 0; layer < layers; layer++) {
    blocks.push(await store.block(layer));
  }
  const clockwise = (rotary: BackboneConfig['rotary']): number[] =>
    [...backboneFrequencies(rotary)].map(frequency => -frequency);
  const kvmLayers = mixers.filter(mixer => mixer === 'kvm').length;
  const sliding = { tokens: config.slidingWindow, frequencies: clockwise(config.alternateRotary) };
  return {
    architecture: {
      family: config.family,
      ...{ layers, kvmLayers, width, heads, keyHeads: heads, headSize, vocabulary },
      frequencies: clockwise(config.rotary),
      ...(mixers.includes('swa') && { slidingWindow: sliding }),
    },
    normEpsilon: config.normEpsilon,
    residualScale: config.residualScale,
    ...{ embedding, embeddingNorm, blocks, firstValue, head },
    finalNorm: await store.norm('transformer.ln_head', width),
    fold: await stateNorms(checkpoint, config),
  };
}

/** LN_s of every layer with KVM, repeated for its heads, and the switches of its fold. */
async function stateNorms(checkpoint: Checkpoint, config: BackboneConfig): Promise<TrainedFold> {
  const { mixers, heads, headSize, kvm } = config;
  const kvmLayers = mixers.flatMap((mixer, layer) => (mixer === 'kvm' ? [layer] : []));
  const perGroup = async (kind: 'weight' | 'bias'): Promise<Float32Array> => {
    const all = new Float32Array(kvmLayers.length * heads * headSize);
    for (const [i, layer] of kvmLayers.entries()) {
      const values = await checkpoint.readFloat32(`transformer.h.${layer}.attn.ln_s_k.${kind}`);
      for (let head = 0; head < heads; head++) all.set(values, (i * heads + head) * headSize);
    }
    return all;
  };
  return {
    gain: await perGroup('weight'),
    bias: await perGroup('bias'),
    epsilon: config.normEpsilon,
    rotaryDimensions: config.rotary.dimensions,
    gatesAppends: kvm.gatesAppends,
    gatesKeys: kvm.gatesKeys,
    gatesValues: kvm.gatesValues,
  };
}

class BackboneStore {
  constructor(
    private readonly checkpoint: Checkpoint,
    private readonly config: BackboneConfig,
    private readonly quantisation: Quantisation,
    private readonly writer: LinearWriter,
  ) {}

  async block(layer: number): Promise<StoredBlock> {
    const { mixers, width, ffnWidth } = this.config;
    const of = `transformer.h.${layer}.`;
    const name = `layer.${layer}.`;
    return {
      attentionNorm: await this.norm(`${of}ln_attn`, width),
      mixer: await this.mixer(mixers[layer]!, of, name),
      mlpNorm: await this.norm(`${of}ln_mlp`, width),
      mlpShift: await this.vector(`${of}mlp.x_k`),
      up: await this.linear(`${name}up`, `${of}mlp.c_fc.weight`, ffnWidth, width),
      down: await this.linear(`${name}down`, `${of}mlp.c_proj.weight`, width, ffnWidth),
    };
  }

  linear(
    name: string,
    tensor: string,
    outputs: number,
    inputs: number,
    kind: Quantisation = this.quantisation,
  ): Promise<StoredLinear> {
    return this.writer.linear(name, inputs, kind, [part(tensor, outputs)]);
  }

  async norm(tensor: string, size: number): Promise<StoredNorm> {
    return {
      gain: await this.writer.vector([part(`${tensor}.weight`, size)]),
      bias: await this.writer.vector([part(`${tensor}.bias`, size)]),
    };
  }

  private async mixer(kind: BackboneConfig['mixers'][number], of: string, name: string): Promise<StoredBlock['mixer']> {
    if (kind === 'rwkv7') return this.rwkv7(`${of}attn.`, name);
    const projection = await this.projection(`${of}attn.`, name);
    return kind === 'swa' ? { kind, ...projection } : { kind, ...projection, ...(await this.kvm(`${of}attn.`, name)) };
  }

  private async projection(of: string, name: string): Promise<StoredProjection> {
    const { width, headSize, valueGateRank } = this.config;
    const threefold = (tensor: (stream: string) => string) => ['q', 'k', 'v'].map(s => part(of + tensor(s), width));
    return {
      qkv: await this.writer.linear(
        `${name}qkv`,
        width,
        this.quantisation,
        threefold(s => `c_${s}.weight`),
      ),
      shift: await this.writer.vector(threefold(s => `x_${s}`)),
      queryNorm: await this.norm(`${of}ln_q`, headSize),
      keyNorm: await this.norm(`${of}ln_k`, headSize),
      valueGate: await this.lowRank(`${name}value_gate`, `${of}v_gate`, valueGateRank),
      output: await this.linear(`${name}output`, `${of}c_proj.weight`, width, width),
    };
  }

  private async kvm(of: string, name: string): Promise<Pick<StoredKvm, 'temperatures' | 'mergeGate'>> {
    const { width, heads, kvm } = this.config;
    const temperature = async (tensor: string): Promise<WeightPlace> => ({
      ...(await this.vector(of + tensor)),
      shape: [heads, 1, 1],
    });
    const temperatures = kvm.headTemperatures && {
      window: await temperature('front_head_temp'),
      state: await temperature('state_head_temp'),
    };
    const gates = kvm.gatesKeys || kvm.gatesValues;
    const mergeGate = gates
      ? await this.linear(`${name}merge_gate`, `${of}key_weighting.weight`, heads, width, 'f32')
      : undefined;
    return { ...(temperatures && { temperatures }), ...(mergeGate && { mergeGate }) };
  }

  private async rwkv7(of: string, name: string): Promise<StoredRwkv7> {
    const { width, heads, headSize, rwkv7Ranks: ranks } = this.config;
    if (!ranks) throw new Error('An RWKV-7 layer without low-rank sizes.');
    const large = (part: string): Promise<StoredLinear> =>
      this.linear(name + part, `${of}${part}.weight`, width, width);
    const perHead = async (tensor: string): Promise<WeightPlace> => ({
      ...(await this.vector(of + tensor)),
      shape: [heads, headSize],
    });
    const shift = (stream: string): Promise<WeightPlace> => this.vector(`${of}x_${stream}`);
    return {
      kind: 'rwkv7',
      shifts: {
        r: await shift('r'),
        w: await shift('w'),
        k: await shift('k'),
        v: await shift('v'),
        a: await shift('a'),
        g: await shift('g'),
      },
      receptance: await large('receptance'),
      key: await large('key'),
      value: await large('value'),
      output: await large('output'),
      decay: await this.lowRank(`${name}decay`, `${of}w`, ranks.decay),
      rate: await this.lowRank(`${name}rate`, `${of}a`, ranks.rate),
      valueGate: await this.lowRank(`${name}value_gate`, `${of}v`, ranks.value),
      outputGate: {
        down: await this.linear(`${name}gate.down`, `${of}g1.weight`, ranks.gate, width, 'f32'),
        up: await this.linear(`${name}gate.up`, `${of}g2.weight`, width, ranks.gate, 'f32'),
      },
      removalKey: await this.vector(`${of}k_k`),
      keyRate: await this.vector(`${of}k_a`),
      bonus: await perHead('r_k'),
      outputGain: await perHead('ln_x.weight'),
      outputBias: await perHead('ln_x.bias'),
    };
  }

  /** The maps `tensor`1 and `tensor`2 and the bias `tensor`0. */
  private async lowRank(name: string, tensor: string, rank: number): Promise<StoredLowRank> {
    const { width } = this.config;
    return {
      down: await this.linear(`${name}.down`, `${tensor}1.weight`, rank, width, 'f32'),
      up: await this.linear(`${name}.up`, `${tensor}2.weight`, width, rank, 'f32'),
      bias: await this.vector(`${tensor}0`),
    };
  }

  /** A tensor as one row of numbers, whatever its shape. */
  private async vector(tensor: string): Promise<WeightPlace> {
    const values = this.checkpoint.tensor(tensor).shape.reduce((a, b) => a * b, 1);
    return this.writer.vector([part(tensor, values)]);
  }
}
