/**
 * The keys of a published `rwkv7backbone` config.json that decide what is computed. Everything else in the file is ignored.
 * Never guesses: a switch the oracle does not compute is refused with a message that names it.
 */
import type { Schedule } from './chunks.js';
import { fixed, powerLaw, rounded, saturating } from './chunks.js';

/** As in the file; numbers stand for booleans there. */
export interface BackboneConfig {
  readonly model_type: string;
  readonly hidden_size: number;
  readonly num_attention_heads: number;
  readonly num_hidden_layers: number;
  readonly vocab_size: number;
  readonly residual_scale: number | null;
  readonly rope_theta: number;
  readonly rope_partial_dim: number;
  readonly alt_layer_every: number;
  readonly alt_token_mixer: string;
  readonly alt_rope_theta: number;
  readonly alt_rope_partial_dim: number;
  readonly alt_share_v0: number;
  /** C. */
  readonly chunk_len: number;
  /** W. */
  readonly n_bswa_chunks: number;
  /** The cap of the state in chunks. */
  readonly n_max_d_chunks: number;
  /** m. */
  readonly sink_len: number;
  readonly state_budget_mode: string;
  readonly state_growth_factor: number;
  readonly state_growth_exponent: number;
  readonly state_round_down: number;
  readonly state_min_len: number;
  readonly state_saturation_n: number | null;
  readonly swa_window_size: number;
  readonly use_value_residual: number;
  readonly use_tokenshift_att: number;
  readonly use_tokenshift_ffn: number;
  readonly kvm_apply_merge_gate_to_initial_state: number;
  readonly kvm_apply_merge_gate_to_appends: number;
  readonly kvm_use_merge_gate_keys: number;
  readonly kvm_use_merge_gate_values: number;
  readonly kvm_use_head_temps: number;
  readonly kvm_use_vlens: number;
}

/** Throws on a configuration the oracle would compute wrongly. */
export function checkBackboneConfig(config: BackboneConfig): void {
  const refuse = (what: string): never => {
    throw new Error(`backbone oracle: ${what} is not supported`);
  };
  if (config.model_type !== 'rwkv7backbone') refuse(`model_type ${config.model_type}`);
  if (!config.kvm_use_vlens) refuse('kvm_use_vlens=0 (broken in the reference)');
  for (const key of ['use_value_residual', 'use_tokenshift_att', 'use_tokenshift_ffn'] as const)
    if (!config[key]) refuse(`${key}=0`);
  if (isHybrid(config) && !['swa', 'rwkv7'].includes(config.alt_token_mixer))
    refuse(`alt_token_mixer ${config.alt_token_mixer}`);
}

export function isHybrid(config: BackboneConfig): boolean {
  return config.alt_layer_every > 1;
}

/** Whether `layer` is one of the hybrid's alternate layers: every `alt_layer_every`-th, from 0. */
export function isAlternate(config: BackboneConfig, layer: number): boolean {
  return isHybrid(config) && layer % config.alt_layer_every === 0;
}

/** The authors' three schedules with their rounding (kvm.md, "Update", 2). */
export function backboneSchedule(config: BackboneConfig): Schedule {
  const { state_round_down: multiple, state_min_len: minimum } = config;
  switch (config.state_budget_mode) {
    case 'fixed':
      return fixed(minimum);
    case 'power_law':
      return rounded(powerLaw(config.state_growth_factor, config.state_growth_exponent), multiple, minimum);
    case 'kvm_saturation':
      return rounded(saturating(config.state_saturation_n!), multiple, minimum);
    default:
      throw new Error(`backbone oracle: state_budget_mode ${config.state_budget_mode} is not supported`);
  }
}
