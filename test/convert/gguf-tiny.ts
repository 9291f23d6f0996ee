/** A Llama-shaped GGUF model of one layer, every tensor of another type, its values given by formulas. */
import { Bytes, halfBits } from './gguf-writer.js';
import type { Meta, WrittenTensor } from './gguf-writer.js';

export const WIDTH = 64;
export const FFN = 96;
export const VOCABULARY = 40;

/** The tiny model: one layer, 4 query heads of 16, 2 key heads. Tokens: 3 control, the rest single characters. */
const CHARACTERS = Array.from('abcdefghijklmnopqrstuvwxyzĠĊ0123');
export const TOKENS = ['<|endoftext|>', '<|im_start|>', '<|im_end|>', ...CHARACTERS, 'ab', 'Ġa', 'abc'];

export function metadata(changes: Record<string, Meta | undefined> = {}): Map<string, Meta> {
  const base: Record<string, Meta | undefined> = {
    'general.architecture': { type: 'text', value: 'llama' },
    'llama.block_count': { type: 'u32', value: 1 },
    'llama.context_length': { type: 'u32', value: 2048 },
    'llama.embedding_length': { type: 'u32', value: WIDTH },
    'llama.feed_forward_length': { type: 'u32', value: FFN },
    'llama.attention.head_count': { type: 'u32', value: 4 },
    'llama.attention.head_count_kv': { type: 'u32', value: 2 },
    'llama.attention.layer_norm_rms_epsilon': { type: 'f32', value: 1e-5 },
    'llama.rope.freq_base': { type: 'f32', value: 100000 },
    'llama.rope.dimension_count': { type: 'u32', value: 16 },
    'tokenizer.ggml.model': { type: 'text', value: 'gpt2' },
    'tokenizer.ggml.pre': { type: 'text', value: 'smollm' },
    'tokenizer.ggml.tokens': { type: 'texts', value: TOKENS },
    'tokenizer.ggml.token_type': { type: 'i32s', value: TOKENS.map((_, id) => (id < 3 ? 3 : 1)) },
    'tokenizer.ggml.merges': { type: 'texts', value: ['a b', 'Ġ a', 'ab c'] },
    'tokenizer.ggml.bos_token_id': { type: 'u32', value: 1 },
    'tokenizer.ggml.eos_token_id': { type: 'u32', value: 2 },
    'tokenizer.ggml.add_bos_token': { type: 'bool', value: false },
    'tokenizer.chat_template': { type: 'text', value: '{{ messages }}' },
    ...changes,
  };
  return new Map(Object.entries(base).filter((entry): entry is [string, Meta] => entry[1] !== undefined));
}

/** Block b: scale 2^-(b mod 5), minimum (b mod 7) - 3, number q of element i is (7 i + 3 b) mod `levels`. */
export const scaleOf = (b: number) => 2 ** -(b % 5);
export const minOf = (b: number) => (b % 7) - 3;
export const numberOf = (b: number, i: number, levels: number) => (7 * i + 3 * b) % levels;

interface Kind {
  readonly id: number;
  readonly encode: (elements: number) => Uint8Array;
  /** Value of element e. */
  readonly value: (e: number) => number;
}

function blocks(elements: number, write: (out: Bytes, b: number) => void): Uint8Array {
  const out = new Bytes();
  for (let b = 0; b < elements / 32; b++) write(out, b);
  return out.done();
}

function nibbles(out: Bytes, b: number): void {
  for (let i = 0; i < 16; i++) out.number(1, numberOf(b, i, 16) | (numberOf(b, i + 16, 16) << 4));
}

const plain = (e: number) => (e % 17) / 8 - 1;
const block = (e: number) => Math.floor(e / 32);

export const KINDS = {
  F32: {
    id: 0,
    encode: elements => new Uint8Array(Float32Array.from({ length: elements }, (_, e) => plain(e)).buffer),
    value: plain,
  },
  F16: {
    id: 1,
    encode: elements => new Uint8Array(Uint16Array.from({ length: elements }, (_, e) => halfBits(plain(e))).buffer),
    value: plain,
  },
  BF16: {
    id: 30,
    encode: elements => {
      const bits = new Uint32Array(Float32Array.from({ length: elements }, (_, e) => plain(e)).buffer);
      return new Uint8Array(Uint16Array.from(bits, value => value >>> 16).buffer);
    },
    value: plain,
  },
  Q8_0: {
    id: 8,
    encode: elements =>
      blocks(elements, (out, b) => {
        out.number(2, halfBits(scaleOf(b)));
        for (let i = 0; i < 32; i++) out.number(1, numberOf(b, i, 255) - 127);
      }),
    value: e => scaleOf(block(e)) * (numberOf(block(e), e % 32, 255) - 127),
  },
  Q4_0: {
    id: 2,
    encode: elements => blocks(elements, (out, b) => nibbles(out.number(2, halfBits(scaleOf(b))), b)),
    value: e => scaleOf(block(e)) * (numberOf(block(e), e % 32, 16) - 8),
  },
  Q4_1: {
    id: 3,
    encode: elements =>
      blocks(elements, (out, b) => nibbles(out.number(2, halfBits(scaleOf(b))).number(2, halfBits(minOf(b))), b)),
    value: e => scaleOf(block(e)) * numberOf(block(e), e % 32, 16) + minOf(block(e)),
  },
} satisfies Record<string, Kind>;

/** GGUF's name, Hugging Face's name, shape [out, in], storage. */
export const MODEL: readonly (readonly [string, string, readonly number[], keyof typeof KINDS])[] = [
  ['token_embd.weight', 'model.embed_tokens.weight', [VOCABULARY, WIDTH], 'Q8_0'],
  ['blk.0.attn_norm.weight', 'model.layers.0.input_layernorm.weight', [WIDTH], 'F32'],
  ['blk.0.attn_q.weight', 'model.layers.0.self_attn.q_proj.weight', [64, WIDTH], 'Q4_1'],
  ['blk.0.attn_k.weight', 'model.layers.0.self_attn.k_proj.weight', [32, WIDTH], 'Q4_0'],
  ['blk.0.attn_v.weight', 'model.layers.0.self_attn.v_proj.weight', [32, WIDTH], 'F16'],
  ['blk.0.attn_output.weight', 'model.layers.0.self_attn.o_proj.weight', [WIDTH, 64], 'BF16'],
  ['blk.0.ffn_norm.weight', 'model.layers.0.post_attention_layernorm.weight', [WIDTH], 'F32'],
  ['blk.0.ffn_gate.weight', 'model.layers.0.mlp.gate_proj.weight', [FFN, WIDTH], 'Q4_1'],
  ['blk.0.ffn_up.weight', 'model.layers.0.mlp.up_proj.weight', [FFN, WIDTH], 'F32'],
  ['blk.0.ffn_down.weight', 'model.layers.0.mlp.down_proj.weight', [WIDTH, FFN], 'Q4_1'],
  ['output_norm.weight', 'model.norm.weight', [WIDTH], 'F32'],
];

export const product = (shape: readonly number[]) => shape.reduce((a, b) => a * b, 1);

export function tensors(): WrittenTensor[] {
  return MODEL.map(([name, , shape, kind]) => {
    const { id, encode } = KINDS[kind];
    return { name, shape, type: id, data: encode(product(shape)) };
  });
}
