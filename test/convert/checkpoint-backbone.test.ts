/** The authors' checkpoints: configs of the golden models, published tensor names, what is refused and by which key. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LongviewError } from '../../src/base/index.js';
import { backboneFrequencies, checkCheckpoint, openCheckpoint } from '../../src/convert/checkpoint/index.js';
import type { BackboneConfig, BackboneKvm } from '../../src/convert/checkpoint/index.js';
import { extraCases, golden, goldenFolder, mainCases } from './golden-folder.js';

suite('checkpoint of the authors’ backbone', () => {
  let folder: string;
  suiteSetup(async () => (folder = await mkdtemp(join(tmpdir(), 'longview-backbone-'))));
  suiteTeardown(() => rm(folder, { recursive: true, force: true }));

  const folderWith = (name: string, change?: object, weights?: string) => goldenFolder(folder, name, change, weights);

  async function opened(path: string): Promise<BackboneConfig> {
    const checkpoint = await openCheckpoint(path);
    try {
      checkCheckpoint(checkpoint);
      assert.equal(checkpoint.rotaryPairs, 'adjacent');
      assert.ok(checkpoint.config.family === 'rwkv7backbone');
      return checkpoint.config;
    } finally {
      await checkpoint.close();
    }
  }

  async function refusal(path: string): Promise<LongviewError> {
    try {
      await opened(path);
    } catch (error) {
      assert.ok(error instanceof LongviewError, String(error));
      assert.ok(!error.message.includes('\n'));
      return error;
    }
    throw new assert.AssertionError({ message: 'it was accepted' });
  }

  // From the golden README's table and the config.json files.
  const kvm: BackboneKvm = {
    chunk: 16,
    windowChunks: 2,
    sinks: 1,
    maxSlots: 160_000,
    schedule: { kind: 'powerLaw', factor: 6, exponent: 0.5 },
    roundDownTo: 8,
    atLeast: 16,
    gatesInitialState: false,
    gatesAppends: true,
    gatesKeys: true,
    gatesValues: true,
    headTemperatures: true,
  };
  const fixed: BackboneKvm = {
    ...kvm,
    maxSlots: 32,
    schedule: { kind: 'fixed', slots: 24 },
    roundDownTo: 1,
    atLeast: 24,
  };
  const saturating: BackboneKvm = {
    ...kvm,
    schedule: { kind: 'saturating', slots: 64 },
    roundDownTo: 1,
    atLeast: 1,
  };
  const rotary = { theta: 10_000, dimensions: 16 };
  const plain: BackboneConfig = {
    family: 'rwkv7backbone',
    layers: 4,
    width: 64,
    heads: 2,
    headSize: 32,
    ffnWidth: 256,
    vocabulary: 128,
    residualScale: 1,
    normEpsilon: 1e-5,
    valueGateRank: 32,
    mixers: ['kvm', 'kvm', 'kvm', 'kvm'],
    rotary,
    alternateRotary: rotary,
    slidingWindow: 16,
    sharesFirstValue: true,
    kvm,
    contextLength: 2 ** 30,
    eosIds: [],
  };
  const hybrid = { residualScale: 0.5, sharesFirstValue: false, kvm: saturating };
  const expected: Record<string, BackboneConfig> = {
    power_law: plain,
    fixed: { ...plain, kvm: fixed },
    saturating: { ...plain, kvm: saturating },
    hybrid_swa: {
      ...plain,
      ...hybrid,
      mixers: ['swa', 'kvm', 'swa', 'kvm'],
      alternateRotary: { theta: 10_000, dimensions: 32 },
      slidingWindow: 24,
    },
    hybrid_rwkv7: {
      ...plain,
      ...hybrid,
      mixers: ['rwkv7', 'kvm', 'rwkv7', 'kvm'],
      rwkv7Ranks: { decay: 32, rate: 32, value: 32, gate: 32 },
    },
    'extra/no_append_gate': { ...plain, kvm: { ...kvm, gatesAppends: false } },
    'extra/no_merge_gate': { ...plain, kvm: { ...kvm, gatesKeys: false, gatesValues: false } },
    'extra/no_head_temps': { ...plain, kvm: { ...kvm, headTemperatures: false } },
    'extra/no_sink_cap64': { ...plain, kvm: { ...kvm, sinks: 0, maxSlots: 64 } },
    'extra/fixed16': {
      ...plain,
      kvm: { ...fixed, maxSlots: 16, schedule: { kind: 'fixed', slots: 16 }, atLeast: 16 },
    },
  };

  for (const name of [...mainCases, ...extraCases]) {
    test(`${name}: its config, and every tensor has its place`, async () => {
      const path = mainCases.includes(name) ? join(golden(name), 'weights.safetensors') : await folderWith(name);
      assert.deepEqual(await opened(path), expected[name]);
    });
  }

  test('frequencies with both ends: theta^0 and theta^-1', () => {
    assert.deepEqual([...backboneFrequencies({ theta: 10_000, dimensions: 2 })], [1]);
    const found = backboneFrequencies({ theta: 10_000, dimensions: 10 });
    // linspace(0, 1, 5): 10000^-0.25 = 0.1, and so on.
    [1, 0.1, 0.01, 0.001, 0.0001].forEach((value, i) => assert.ok(Math.abs(found[i]! / value - 1) < 1e-12));
  });

  test('a missing scale is 1, a negative minimum and window are the first chunk’s', async () => {
    const config = await opened(
      await folderWith('fixed', { residual_scale: null, state_min_len: -1, state_round_down: 0, swa_window_size: 0 }),
    );
    assert.equal(config.residualScale, 1);
    assert.deepEqual(config.kvm.schedule, { kind: 'fixed', slots: 1 });
    assert.equal(config.kvm.atLeast, 1);
    assert.equal(config.kvm.roundDownTo, 1);
    assert.equal(config.slidingWindow, 16);
  });

  test('keys of newer versions that change nothing are allowed', async () => {
    const change = { num_key_value_heads: 2, kvm_aotriton_forward_attention: 1, use_cache: true, d_head: 32 };
    assert.deepEqual(await opened(await folderWith('fixed', change)), expected['fixed']);
  });

  const unsupported: [change: object, reason: RegExp][] = [
    [{ kvm_use_vlens: 0 }, /kvm_use_vlens=0 is not supported \(it does not work/],
    [{ use_value_residual: 0 }, /use_value_residual=0/],
    [{ use_tokenshift_att: 0 }, /use_tokenshift_att=0/],
    [{ use_tokenshift_ffn: false }, /use_tokenshift_ffn=0/],
    [{ use_block_lambdas: 1 }, /use_block_lambdas=1/],
    [{ use_skip_connections: 1 }, /use_skip_connections=1/],
    [{ logit_softcap: 15 }, /logit_softcap=15/],
    [{ token_mixer: 'gptalpha' }, /token_mixer "gptalpha" is not a KVM model/],
    [{ token_mixer: 'rwkv7' }, /token_mixer "rwkv7" is not a KVM model/],
    [{ token_mixer_class_path: 'my.own.Mixer' }, /token_mixer_class_path "my\.own\.Mixer"/],
    [{ alt_layer_every: 2, alt_token_mixer: 'gated_deltanet' }, /alt_token_mixer "gated_deltanet"/],
    [{ alt_layer_every: 2, alt_token_mixer: 'kvm' }, /alt_token_mixer "kvm"/],
    [{ alt_layer_every: 1 }, /alt_layer_every=1/],
    [{ alt_layer_every: 2, num_hidden_layers: 1 }, /num_hidden_layers=1/],
    [{ alt_layer_every: 2, swa_token_shift_mode: 'none' }, /swa_token_shift_mode "none"/],
    [{ kvm_value_residual_mode: 'rwkv_post_tokenshift' }, /kvm_value_residual_mode "rwkv_post_tokenshift"/],
    [{ kvm_token_shift_mode: 'none' }, /kvm_token_shift_mode "none"/],
    [{ state_budget_mode: 'linear' }, /state_budget_mode "linear"/],
    [{ state_budget_mode: 'kvm_saturation' }, /needs state_saturation_n/],
    [{ kvm_apply_merge_gate_to_initial_state: 1, kvm_use_merge_gate_values: 0 }, /to_initial_state=1 with only one/],
    [{ d_head: 16 }, /d_head=16/],
    [{ d_qk_head: 64, d_v_head: 32 }, /d_qk_head=64/],
    [{ num_key_value_heads: 1 }, /num_key_value_heads=1/],
    [{ kvm_new_trick: 1 }, /"kvm_new_trick" is not known/],
    [{ quantization_config: { bits: 4 } }, /quantised/],
  ];
  for (const [change, reason] of unsupported) {
    test(`refused: ${JSON.stringify(change)}`, async () => {
      const error = await refusal(await folderWith('fixed', change));
      assert.equal(error.code, 'unsupported');
      assert.match(error.message, reason);
      assert.match(error.message, /^case-\w+[\\/]config\.json: /);
    });
  }

  const impossible: [change: object, reason: RegExp][] = [
    [{ kvm_use_head_temps: 2 }, /kvm_use_head_temps/],
    [{ kvm_apply_merge_gate_to_appends: undefined }, /kvm_apply_merge_gate_to_appends/],
    [{ hidden_size: '64' }, /hidden_size/],
    [{ num_hidden_layers: 1e9 }, /layers is 1000000000/],
    [{ num_hidden_layers: 0 }, /layers is 0/],
    [{ num_hidden_layers: 2.5 }, /layers is 2\.5/],
    [{ num_attention_heads: 3 }, /headSize is 21\.3/],
    [{ num_attention_heads: 0 }, /heads is 0/],
    [{ vocab_size: -1 }, /vocabulary is -1/],
    [{ ffn_expansion: 0 }, /ffnWidth is 0/],
    [{ ffn_expansion: 1e9 }, /ffnWidth is/],
    [{ chunk_len: 0 }, /slidingWindow is 0|chunk is 0/],
    [{ chunk_len: 1e6, swa_window_size: 8 }, /chunk is 1000000/],
    [{ n_bswa_chunks: 0 }, /windowChunks is 0/],
    [{ n_max_d_chunks: 0 }, /maxSlots is 0/],
    [{ n_max_d_chunks: 1e12 }, /maxSlots is/],
    [{ sink_len: 16 }, /16 sinks/],
    [{ sink_len: -1 }, /-1 sinks/],
    [{ residual_scale: 1e9 }, /residual_scale is 1000000000/],
    [{ rope_theta: 0 }, /rope theta is 0/],
    [{ rope_partial_dim: 0 }, /0 of a head's 32 dimensions/],
    [{ rope_partial_dim: 34 }, /34 of a head's 32 dimensions/],
    [{ rope_partial_dim: 15 }, /15 of a head's 32 dimensions/],
    [{ state_min_len: 1.5 }, /slots is 1\.5|atLeast is 1\.5/],
    [{ state_budget_mode: 'power_law', state_growth_exponent: 3 }, /state of 1\*T\^3/],
    [{ state_budget_mode: 'power_law', state_growth_factor: 0 }, /state of 0\*T/],
    [{ state_budget_mode: 'kvm_saturation', state_saturation_n: 0 }, /slots is 0/],
    [{ max_position_embeddings: 1e12 }, /contextLength/],
    [{ eos_token_id: 128 }, /token id 128 is outside the vocabulary of 128/],
    [{ num_hidden_layers: 5 }, /tensor transformer\.h\.4\.ln_attn\.weight is missing/],
    [{ ffn_expansion: 2 }, /mlp\.c_fc\.weight has shape \[256, 64\], its config says \[128, 64\]/],
  ];
  for (const [change, reason] of impossible) {
    test(`not possible: ${JSON.stringify(change, (_, value: unknown) => value ?? null)}`, async () => {
      const error = await refusal(await folderWith('fixed', change));
      assert.equal(error.code, 'bad-format');
      assert.match(error.message, reason);
    });
  }

  test('tensors that the config has no place for are refused by name', async () => {
    const fewer = await refusal(await folderWith('fixed', { num_hidden_layers: 3 }));
    assert.equal(fewer.code, 'unsupported');
    assert.match(fewer.message, /tensor "transformer\.h\.3\.\S+" has no place in this rwkv7backbone model/);
    // A sliding-window layer has no state, so the temperatures and LN_s of a KVM layer are something else's.
    const other = await refusal(
      await folderWith(
        'hybrid_swa',
        {
          kvm_use_head_temps: 0,
          kvm_use_merge_gate_keys: 0,
          kvm_use_merge_gate_values: 0,
        },
        'fixed',
      ),
    );
    assert.match(other.message, /tensor "transformer\.h\.[02]\.attn\.\S+" has no place/);
  });

  test('a switched-on part must be there', async () => {
    const error = await refusal(await folderWith('hybrid_rwkv7', {}, 'hybrid_swa'));
    assert.match(error.message, /the weights have no tensor transformer\.h\.0\.attn\.w1\.weight/);
  });
});
