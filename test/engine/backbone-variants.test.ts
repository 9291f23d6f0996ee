/**
 * Configurations that no golden case has, against the float64 oracle (which computes the golden ones): other windows, sinks,
 * rotations, gates and orders of layers, over the golden weights. Logits to 1e-4, slots to 5e-4.
 */
import assert from 'node:assert/strict';
import { KvmSession, prefill } from '../../src/engine/session.js';
import { assertClose, openCase, tensor } from '../oracle/golden.js';
import type { BackboneConfig } from '../reference/backbone-config.js';
import { BackboneOracle } from '../reference/backbone.js';
import { KvmMixer } from '../reference/kvm.js';
import { seededRandom } from '../reference/tiny-model.js';
import { BackboneFolder } from './backbone-folder.js';

/** What KVM layers 0 and 3 have and sliding-window layers have not. */
const KVM_ONLY = /\.[03]\.attn\.(ln_s_k|key_weighting|front_head_temp|state_head_temp)/;
const EVERY_THIRD = {
  ...{ alt_layer_every: 3, alt_token_mixer: 'swa', alt_token_mixer_class_path: null },
  ...{ alt_rope_partial_dim: 32, swa_window_size: 24 },
};

interface Variant {
  readonly base: string;
  readonly changes: Partial<BackboneConfig> & Record<string, unknown>;
  readonly removed?: RegExp;
  /** Of a random text whose fold decisions are far from ties; absent: the golden prompt, which is such a text. */
  readonly seed?: number;
}

const variants: Readonly<Record<string, Variant>> = {
  'a sliding window of the current token alone': { base: 'hybrid_swa', changes: { swa_window_size: 1 } },
  'a sliding window over several chunks': { base: 'hybrid_swa', changes: { swa_window_size: 50 } },
  'a sliding window longer than the text': { base: 'hybrid_swa', changes: { swa_window_size: 999 } },
  'a sliding window of one chunk, rotated in part': {
    base: 'hybrid_swa',
    changes: { swa_window_size: -1, alt_rope_partial_dim: 8 },
  },
  'one first value for all layers, sliding windows': { base: 'hybrid_swa', changes: { alt_share_v0: 1 } },
  'one first value for all layers, RWKV-7': { base: 'hybrid_rwkv7', changes: { alt_share_v0: 1 } },
  'every third layer a sliding window': { base: 'fixed', changes: EVERY_THIRD, removed: KVM_ONLY, seed: 2 },
  'the first chunk gated': { base: 'power_law', changes: { kvm_apply_merge_gate_to_initial_state: 1 }, seed: 1 },
  'gates on keys alone': { base: 'power_law', changes: { kvm_use_merge_gate_values: 0 } },
  'gates on values alone': { base: 'power_law', changes: { kvm_use_merge_gate_keys: 0 } },
  'three quarters of a head rotated': { base: 'saturating', changes: { rope_partial_dim: 24 }, seed: 2 },
  'a window of one chunk, 5 sinks': { base: 'saturating', changes: { n_bswa_chunks: 1, sink_len: 5 }, seed: 1 },
  'a window of three chunks, other chunks': { base: 'power_law', changes: { n_bswa_chunks: 3, chunk_len: 24 } },
};

function randomTokens(seed: number): number[] {
  const random = seededRandom(seed);
  return Array.from({ length: 203 }, () => Math.floor(random() * 128));
}

const folder = new BackboneFolder();
suiteTeardown(() => folder.dispose());

suite('trained models of other configurations against the oracle', function () {
  this.timeout(60_000);

  for (const [name, { base, changes, removed, seed }] of Object.entries(variants))
    test(name, async () => {
      const golden = openCase<BackboneConfig>(base, `${base}/weights.safetensors`);
      const oracle = new BackboneOracle({ ...golden.config, ...changes }, golden.weights);
      const prompt = seed ? randomTokens(seed) : [...tensor(golden.golden, 'prompt_tokens').data];
      const expected = oracle.feed(prompt).map(row => [...row]);
      const mixers = oracle.mixers.filter(mixer => mixer instanceof KvmMixer);
      for (const { calls } of mixers)
        assert(Math.min(calls.append, calls.merge) > 1e-4, 'no decision hangs on float32 noise');
      const model = await folder.variant(name.replaceAll(/\W+/g, '-'), base, changes, removed);
      const session = await KvmSession.start(model, { schedule: model.manifest.kvm.trained!.schedule });
      const logits: number[][] = [];
      // Chunks at first, single tokens over two more folds at the end.
      for (const part of [prompt.slice(0, 150), ...prompt.slice(150).map(token => [token])]) {
        await prefill(
          session,
          part,
          (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
          pass => void logits.push([...pass.logits]),
        );
      }
      assertClose('logits', logits.flat(), expected.flat(), 1e-4);
      const slots = mixers.flatMap(mixer => mixer.heads.flatMap(head => head.slots));
      assert.equal(session.slots.slots * session.slots.groups, slots.length);
      assertClose(
        'keys',
        session.slots.keySum,
        slots.flatMap(slot => [...slot.key]),
        5e-4,
      );
      assertClose(
        'values',
        session.slots.valueSum,
        slots.flatMap(slot => [...slot.value]),
        5e-4,
      );
      assertClose(
        'radii',
        session.slots.valueRadius,
        slots.map(slot => slot.radius),
        5e-4,
      );
    });
});
