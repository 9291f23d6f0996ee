/**
 * The authors' `config.json` (model_type `rwkv7backbone`) → `BackboneConfig`. What would change the arithmetic and is not
 * computed here, or that their own code cannot do, is refused by its key; never ignored.
 */
import { z } from 'zod';
import { LongviewError, quoted } from '../../base/index.js';
import type { BackboneConfig, BackboneKvm, BackboneMixer } from './checkpoint.js';
import { validateBackbone } from './config-limits.js';
import { endOfText } from './hf-config.js';

/** Their switches are numbers; a boolean means the same. */
const flag = z.union([z.literal(0), z.literal(1), z.boolean()]).transform(Boolean);

/** Keys without a default here had different defaults in different versions of their code: a file must hold them. */
const schema = z.object({
  vocab_size: z.number(),
  num_hidden_layers: z.number(),
  num_attention_heads: z.number(),
  num_key_value_heads: z.number().nullish(),
  hidden_size: z.number(),
  d_head: z.number().nullish(),
  d_qk_head: z.number().nullish(),
  d_v_head: z.number().nullish(),
  ffn_expansion: z.number(),
  residual_scale: z.number().nullish(),
  max_position_embeddings: z.number(),
  rope_theta: z.number(),
  rope_partial_dim: z.number(),
  alt_rope_theta: z.number(),
  alt_rope_partial_dim: z.number(),
  alt_layer_every: z.number(),
  alt_token_mixer: z.string(),
  alt_token_mixer_class_path: z.string().nullish(),
  alt_share_v0: flag,
  token_mixer: z.string(),
  token_mixer_class_path: z.string().nullish(),
  chunk_len: z.number(),
  n_bswa_chunks: z.number(),
  n_max_d_chunks: z.number(),
  sink_len: z.number(),
  state_budget_mode: z.string(),
  state_growth_factor: z.number(),
  state_growth_exponent: z.number(),
  state_round_down: z.number(),
  state_min_len: z.number(),
  state_saturation_n: z.number().nullish(),
  swa_window_size: z.number(),
  use_value_residual: flag,
  use_tokenshift_att: flag,
  use_tokenshift_ffn: flag,
  use_block_lambdas: flag,
  use_skip_connections: flag,
  logit_softcap: z.number(),
  kvm_value_residual_mode: z.string(),
  kvm_token_shift_mode: z.string(),
  swa_value_residual_mode: z.string(),
  swa_token_shift_mode: z.string(),
  kvm_apply_merge_gate_to_initial_state: flag,
  kvm_apply_merge_gate_to_appends: flag,
  kvm_use_merge_gate_keys: flag,
  kvm_use_merge_gate_values: flag,
  kvm_use_head_temps: flag,
  kvm_use_vlens: flag,
  quantization_config: z.unknown().optional(),
});

type Keys = z.infer<typeof schema>;

/** Keys that only training, another mixer or the choice of a kernel reads. */
const WITHOUT_EFFECT =
  /^(use_(l2wrap|overflow_v_key_weighting|state_deltarule|state_decay|cache)|kvm_aotriton_\w+)$|^(lact|kda|gated_deltanet|ovq|gptalpha)_/;

/** Families of keys of which an unknown one would be a newer form of the arithmetic. */
const ARITHMETIC = /^(kvm|swa|state|alt|rope|use|sink|chunk|n|d|token_mixer|logit)_/;

export interface BackboneConfigInputs {
  /** For messages. */
  readonly file: string;
  readonly config: Record<string, unknown>;
  /** `generation_config.json`. */
  readonly generation?: Record<string, unknown>;
  /** First dimension of a stored tensor. */
  readonly rowsOf: (tensor: string) => number | undefined;
}

/** Throws `bad-format` or `unsupported`. */
export function readBackboneConfig({ file, config, generation, rowsOf }: BackboneConfigInputs): BackboneConfig {
  const parsed = schema.safeParse(config);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new LongviewError('bad-format', `${file}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.`);
  }
  const keys = parsed.data;
  for (const reason of refusals(keys, config)) throw new LongviewError('unsupported', `${file}: ${reason}.`);
  const rank = (name: string): number => {
    const rows = rowsOf(name);
    if (rows === undefined) throw new LongviewError('bad-format', `${file}: the weights have no tensor ${name}.`);
    return rows;
  };
  const hybrid = keys.alt_layer_every > 1;
  const mixers = Array.from({ length: bounded(keys.num_hidden_layers) }, (_, layer) =>
    hybrid && layer % keys.alt_layer_every === 0 ? (keys.alt_token_mixer as BackboneMixer) : 'kvm',
  );
  const inLayer = (layer: number, name: string): string => `transformer.h.${layer}.attn.${name}.weight`;
  const rotary = { theta: keys.rope_theta, dimensions: keys.rope_partial_dim };
  return validateBackbone(file, {
    family: 'rwkv7backbone',
    layers: keys.num_hidden_layers,
    width: keys.hidden_size,
    heads: keys.num_attention_heads,
    headSize: keys.hidden_size / keys.num_attention_heads,
    // As their code rounds it.
    ffnWidth: Math.floor(Math.trunc(keys.ffn_expansion * keys.hidden_size) / 32) * 32,
    vocabulary: keys.vocab_size,
    // Their code: `residual_scale or 1.0`.
    residualScale: keys.residual_scale || 1,
    normEpsilon: 1e-5,
    valueGateRank: rank(inLayer(mixers.indexOf('kvm'), 'v_gate1')),
    mixers,
    rotary,
    alternateRotary: mixers.includes('swa')
      ? { theta: keys.alt_rope_theta, dimensions: keys.alt_rope_partial_dim }
      : rotary,
    slidingWindow: keys.swa_window_size > 0 ? keys.swa_window_size : keys.chunk_len,
    sharesFirstValue: keys.alt_share_v0 || !hybrid,
    kvm: readKvm(keys),
    ...(mixers.includes('rwkv7') && {
      rwkv7Ranks: {
        decay: rank(inLayer(0, 'w1')),
        rate: rank(inLayer(0, 'a1')),
        value: rank(inLayer(0, 'v1')),
        gate: rank(inLayer(0, 'g1')),
      },
    }),
    contextLength: keys.max_position_embeddings,
    ...endOfText(config, generation),
  });
}

/** Layers that an array may be made for; `validateBackbone` refuses others. */
function bounded(layers: number): number {
  return Number.isInteger(layers) && layers > 0 ? Math.min(layers, 4096) : 1;
}

function readKvm(keys: Keys): BackboneKvm {
  return {
    chunk: keys.chunk_len,
    windowChunks: keys.n_bswa_chunks,
    sinks: keys.sink_len,
    maxSlots: keys.n_max_d_chunks * keys.chunk_len,
    schedule: scheduleOf(keys),
    // A state never has less than its first chunk's slots, so 1 says the same as anything below.
    roundDownTo: Math.max(1, keys.state_round_down),
    atLeast: Math.max(1, keys.state_min_len),
    gatesInitialState: keys.kvm_apply_merge_gate_to_initial_state,
    gatesAppends: keys.kvm_apply_merge_gate_to_appends,
    gatesKeys: keys.kvm_use_merge_gate_keys,
    gatesValues: keys.kvm_use_merge_gate_values,
    headTemperatures: keys.kvm_use_head_temps,
  };
}

function scheduleOf(keys: Keys): BackboneKvm['schedule'] {
  switch (keys.state_budget_mode) {
    case 'power_law':
      return { kind: 'powerLaw', factor: keys.state_growth_factor, exponent: keys.state_growth_exponent };
    case 'kvm_saturation':
      return { kind: 'saturating', slots: keys.state_saturation_n ?? NaN };
    default:
      return { kind: 'fixed', slots: Math.max(1, keys.state_min_len) };
  }
}

/** Why these keys cannot be computed, one line each. */
function* refusals(keys: Keys, config: Record<string, unknown>): Generator<string> {
  const hybrid = keys.alt_layer_every > 1;
  if (keys.token_mixer !== 'kvm') yield `token_mixer ${quoted(keys.token_mixer)} is not a KVM model`;
  yield* classPath('token_mixer', keys.token_mixer, keys.token_mixer_class_path);
  if (keys.alt_layer_every === 1) yield 'alt_layer_every=1 leaves no KVM layer a first value of its own';
  if (hybrid) {
    if (keys.alt_token_mixer !== 'swa' && keys.alt_token_mixer !== 'rwkv7') {
      yield `alt_token_mixer ${quoted(keys.alt_token_mixer)} is not supported; swa and rwkv7 are`;
    }
    yield* classPath('alt_token_mixer', keys.alt_token_mixer, keys.alt_token_mixer_class_path);
    if (keys.num_hidden_layers < 2) yield 'num_hidden_layers=1 leaves a hybrid no KVM layer';
  }
  if (!['fixed', 'power_law', 'kvm_saturation'].includes(keys.state_budget_mode)) {
    yield `state_budget_mode ${quoted(keys.state_budget_mode)} is not known`;
  }
  if (keys.state_budget_mode === 'kvm_saturation' && keys.state_saturation_n == null) {
    yield 'state_budget_mode "kvm_saturation" needs state_saturation_n';
  }
  if (!keys.kvm_use_vlens) yield 'kvm_use_vlens=0 is not supported (it does not work in the authors’ code)';
  for (const key of ['use_value_residual', 'use_tokenshift_att', 'use_tokenshift_ffn'] as const) {
    if (!keys[key]) yield `${key}=0 is not supported (no published model has it)`;
  }
  for (const key of ['use_block_lambdas', 'use_skip_connections'] as const) {
    if (keys[key]) yield `${key}=1 is not supported (no published model has it)`;
  }
  if (keys.logit_softcap !== 0) yield `logit_softcap=${keys.logit_softcap} is not supported`;
  const mixers = hybrid ? (['kvm', 'swa'] as const) : (['kvm'] as const);
  for (const mixer of mixers) {
    for (const key of [`${mixer}_value_residual_mode`, `${mixer}_token_shift_mode`] as const) {
      if (keys[key] !== 'rwkv') yield `${key} ${quoted(keys[key])} is not supported; "rwkv" is`;
    }
  }
  const { kvm_use_merge_gate_keys: gatesKeys, kvm_use_merge_gate_values: gatesValues } = keys;
  if (keys.kvm_apply_merge_gate_to_initial_state && gatesKeys !== gatesValues) {
    yield 'kvm_apply_merge_gate_to_initial_state=1 with only one of kvm_use_merge_gate_keys and _values is not supported';
  }
  const headSize = keys.hidden_size / keys.num_attention_heads;
  for (const key of ['d_head', 'd_qk_head', 'd_v_head'] as const) {
    if (keys[key] && keys[key] !== headSize) {
      yield `${key}=${keys[key]} is not supported; hidden_size / num_attention_heads (${headSize}) is`;
    }
  }
  if (keys.num_key_value_heads && keys.num_key_value_heads !== keys.num_attention_heads) {
    yield `num_key_value_heads=${keys.num_key_value_heads} beside ${keys.num_attention_heads} heads is not supported`;
  }
  if (keys.quantization_config != null) yield 'a quantised safetensors file is not supported';
  for (const key of Object.keys(config)) {
    if (!(key in schema.shape) && ARITHMETIC.test(key) && !WITHOUT_EFFECT.test(key)) {
      yield `the key ${quoted(key)} is not known; the model needs a newer version of Longview`;
    }
  }
}

/** A mixer of another name than its key says would be another mixer. */
function* classPath(key: string, mixer: string, path: string | null | undefined): Generator<string> {
  if (path != null && path !== `model.${mixer}_mixer.SequenceMixer`)
    yield `${key}_class_path ${quoted(path)} is not supported`;
}
