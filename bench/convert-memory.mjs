// Peak memory and cancellation of a large conversion: a random bf16 checkpoint in the shape of Qwen2.5-1.5B is written in
// shards to a scratch folder, converted by a child process with the real converter and engine, sampled from /proc (Linux).
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SHAPE = { width: 1536, ffn: 8960, heads: 12, keyHeads: 2, headSize: 128, vocabulary: 151_936, layers: 28 };
const SHARD_BYTES = 1e9;
const CHILD = fileURLToPath(new URL('./convert-memory-child.mjs', import.meta.url));

/** `gigabytes` scales the number of layers; all 28 come to 3.1 GB. */
export async function convertMemory(gigabytes, quantisations) {
  const scratch = await mkdtemp(join(tmpdir(), 'longview-bench-'));
  try {
    const checkpoint = join(scratch, 'checkpoint');
    const bytes = await writeCheckpoint(checkpoint, gigabytes);
    print(`checkpoint: ${(bytes / 1e9).toFixed(2)} GB`);
    print('weights | seconds | peak resident MB | of it anonymous MB (peak) | longest silence s | outcome');
    for (const quantisation of quantisations) {
      const run = await convert(checkpoint, scratch, quantisation);
      const silence = Object.entries(run.silence).map(([task, seconds]) => `${task} ${seconds.toFixed(1)}`);
      print(
        [
          quantisation,
          run.seconds.toFixed(0),
          Math.round(run.peak),
          Math.round(run.anonymous),
          silence.join(', '),
          run.outcome,
        ].join(' | '),
      );
    }
    print('cancelled during | seconds until it ended');
    for (const phase of ['start', 'Converting the model', 'Checking the model', 'Running the model']) {
      const run = await convert(checkpoint, scratch, quantisations[0], phase);
      print(`${phase} | ${run.afterCancel?.toFixed(1) ?? 'it was not'} (${run.outcome})`);
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

async function convert(checkpoint, scratch, quantisation, cancelDuring = '') {
  const target = join(scratch, `model-${quantisation}`);
  const child = spawn(process.execPath, [CHILD, checkpoint, target, quantisation, cancelDuring], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let anonymous = 0;
  let peak = 0;
  const sample = async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    const megabytes = name => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) / 1000;
    anonymous = Math.max(anonymous, megabytes('RssAnon'));
    peak = Math.max(peak, megabytes('VmHWM'));
  };
  const timer = setInterval(() => void sample(), 100);
  let last = '';
  for await (const line of createInterface({ input: child.stdout })) last = line;
  clearInterval(timer);
  await rm(target, { recursive: true, force: true });
  if (last === '') throw new Error(`the conversion to ${quantisation} died (signal ${child.signalCode})`);
  return { ...JSON.parse(last), peak, anonymous };
}

/** Writes config, index and shards; gives the bytes of the shards. Holds one piece of one tensor at a time. */
async function writeCheckpoint(folder, gigabytes) {
  await mkdir(folder);
  const embedding = 2 * SHAPE.vocabulary * SHAPE.width;
  const perLayer = 2 * layerTensors(0).reduce((sum, [, shape]) => sum + size(shape), 0);
  const layers = Math.max(1, Math.min(SHAPE.layers, Math.round((gigabytes * 1e9 - embedding) / perLayer)));
  const tensors = [
    ['model.embed_tokens.weight', [SHAPE.vocabulary, SHAPE.width]],
    ...Array.from({ length: layers }, (_, layer) => layerTensors(layer)).flat(),
    ['model.norm.weight', [SHAPE.width]],
  ];
  const shards = [[]];
  let filled = 0;
  for (const tensor of tensors) {
    if (filled > 0 && filled + 2 * size(tensor[1]) > SHARD_BYTES) {
      shards.push([]);
      filled = 0;
    }
    shards.at(-1).push(tensor);
    filled += 2 * size(tensor[1]);
  }
  const map = {};
  let total = 0;
  for (const [i, shard] of shards.entries()) {
    const name = `model-${i + 1}-of-${shards.length}.safetensors`;
    for (const [tensor] of shard) map[tensor] = name;
    total += await writeShard(join(folder, name), shard, i + 1);
  }
  await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }));
  await writeFile(
    join(folder, 'config.json'),
    JSON.stringify({
      model_type: 'qwen2',
      num_hidden_layers: layers,
      hidden_size: SHAPE.width,
      num_attention_heads: SHAPE.heads,
      num_key_value_heads: SHAPE.keyHeads,
      intermediate_size: SHAPE.ffn,
      vocab_size: SHAPE.vocabulary,
      max_position_embeddings: 32_768,
      rope_theta: 1e6,
      rms_norm_eps: 1e-6,
      tie_word_embeddings: true,
      eos_token_id: 151_645,
    }),
  );
  return total;
}

function layerTensors(layer) {
  const { width, ffn, heads, keyHeads, headSize } = SHAPE;
  const named = Object.entries({
    'input_layernorm.weight': [width],
    'self_attn.q_proj.weight': [heads * headSize, width],
    'self_attn.q_proj.bias': [heads * headSize],
    'self_attn.k_proj.weight': [keyHeads * headSize, width],
    'self_attn.k_proj.bias': [keyHeads * headSize],
    'self_attn.v_proj.weight': [keyHeads * headSize, width],
    'self_attn.v_proj.bias': [keyHeads * headSize],
    'self_attn.o_proj.weight': [width, heads * headSize],
    'post_attention_layernorm.weight': [width],
    'mlp.gate_proj.weight': [ffn, width],
    'mlp.up_proj.weight': [ffn, width],
    'mlp.down_proj.weight': [width, ffn],
  });
  return named.map(([name, shape]) => [`model.layers.${layer}.${name}`, shape]);
}

function size(shape) {
  return shape.reduce((a, b) => a * b, 1);
}

async function writeShard(path, tensors, seed) {
  const header = {};
  let offset = 0;
  for (const [name, shape] of tensors) {
    header[name] = { dtype: 'BF16', shape, data_offsets: [offset, (offset += 2 * size(shape))] };
  }
  const json = Buffer.from(JSON.stringify(header));
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(BigInt(json.length));
  const file = await open(path, 'w');
  await file.write(Buffer.concat([prefix, json]));
  let state = createHash('sha256').update(`shard ${seed}`).digest().readUInt32LE(0) | 1;
  const piece = new Uint32Array(1 << 20);
  for (const [name, shape] of tensors) {
    const isGain = name.endsWith('norm.weight');
    // Layers of 2^-11 to 2^-7 beside an embedding of 2^-5 to 2^-1: as in a trained model, no layer outweighs the stream.
    const smallest = name.includes('embed') ? 0x3d003d00 : 0x3a003a00;
    for (let left = size(shape) / 2; left > 0; left -= piece.length) {
      const count = Math.min(left, piece.length);
      for (let i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >>> 17;
        state ^= state << 5;
        // Two values of four neighbouring powers of two, random sign, bfloat16; gains are 1.
        piece[i] = isGain ? 0x3f803f80 : ((state & 0x81ff81ff) + smallest) | 0;
      }
      await file.write(new Uint8Array(piece.buffer, 0, 4 * count));
    }
  }
  await file.close();
  return 8 + json.length + offset;
}
