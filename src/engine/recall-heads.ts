/**
 * The heads that look things up and their fitted values (recall.md): query maps and five numbers a head, from the
 * model's `recall.safetensors`. Queries are mapped here; keys stay what the model computes.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LongviewError, quoted } from '../base/index.js';
import type { RecallParameters } from './engine.js';
import { FILES } from './graph-contract.js';
import type { Manifest } from './graph-contract.js';
import { rotateRows, rotationOf } from './rotary.js';

export interface KeyHead {
  readonly layer: number;
  readonly head: number;
}

export class RecallHeads {
  private constructor(
    /** [layer, query head] of each recall head. */
    readonly queryHeads: readonly (readonly [number, number])[],
    /** Distinct key heads that the query heads read. */
    readonly keyHeads: readonly KeyHead[],
    /** For each query head, its key head's index. */
    readonly keyHeadOf: readonly number[],
    readonly parameters: RecallParameters,
    private readonly temperature: readonly number[],
    /** float32 [heads,d,d]. */
    private readonly queryMap: Float32Array,
  ) {}

  /** A model without recall settings has no recall heads. Throws `bad-format` for values that do not fit the manifest. */
  static async load(folder: string, manifest: Manifest): Promise<RecallHeads> {
    const { heads, keyHeads, headSize, layers } = manifest.architecture;
    const queryHeads = manifest.recall?.heads ?? [];
    for (const [layer, head] of queryHeads) {
      if (!(layer >= 0 && layer < layers && head >= 0 && head < heads)) throw damaged('a head out of range');
    }
    const distinct: KeyHead[] = [];
    const keyHeadOf = queryHeads.map(([layer, head]) => {
      const keyHead = Math.floor((head * keyHeads) / heads);
      const known = distinct.findIndex(found => found.layer === layer && found.head === keyHead);
      return known >= 0 ? known : distinct.push({ layer, head: keyHead }) - 1;
    });
    const values =
      queryHeads.length > 0 ? await readSafetensors(join(folder, FILES.recall)) : new Map<string, Float32Array>();
    const perHead = (name: string): number[] => {
      const found = queryHeads.length > 0 ? values.get(name) : new Float32Array(0);
      if (found?.length !== queryHeads.length) throw damaged(name);
      if (!found.every(Number.isFinite)) throw damaged(name);
      return [...found];
    };
    const queryMap = values.get('query_map') ?? new Float32Array(queryHeads.length * headSize * headSize);
    if (queryMap.length !== queryHeads.length * headSize * headSize || !queryMap.every(Number.isFinite)) {
      throw damaged('query_map');
    }
    return new RecallHeads(
      queryHeads,
      distinct,
      keyHeadOf,
      {
        weight: perHead('weight'),
        nullWeight: perHead('null_weight'),
        lengthExponent: perHead('length_exponent'),
        logFloor: perHead('log_floor'),
      },
      perHead('log_temperature').map(Math.exp),
      queryMap,
    );
  }

  /**
   * Rows of one recall head, un-rotated [R,d], → what is scored against keys: rotated to the query position, mapped
   * (q + q A), scale and temperature applied.
   */
  mapQueries(head: number, rows: Float32Array, frequencies: readonly number[], position: number): Float32Array {
    const size = 2 * frequencies.length;
    const rotated = Float32Array.from(rows);
    rotateRows(rotated, rotationOf(frequencies, position, 1));
    const factor = this.temperature[head]! / Math.sqrt(size);
    const mapped = new Float32Array(rows.length);
    const map = this.queryMap.subarray(head * size * size, (head + 1) * size * size);
    for (let start = 0; start < rows.length; start += size) {
      for (let column = 0; column < size; column++) {
        let sum = rotated[start + column]!;
        for (let i = 0; i < size; i++) sum += rotated[start + i]! * map[i * size + column]!;
        mapped[start + column] = sum * factor;
      }
    }
    return mapped;
  }
}

function damaged(what: string): LongviewError {
  return new LongviewError(
    'bad-format',
    `The model's recall values are damaged (${what}). Remove the model and add it again.`,
  );
}

const header = z.record(
  z.string(),
  z.looseObject({ dtype: z.string(), data_offsets: z.tuple([z.number().int().min(0), z.number().int().min(0)]) }),
);

/** Small files only: every F32 and F16 tensor as float32. Throws `bad-format`, also for a value that is no number. */
async function readSafetensors(path: string): Promise<Map<string, Float32Array>> {
  const bytes = await readFile(path).catch(() => undefined);
  if (!bytes) throw damaged('no file');
  const headerBytes = bytes.length >= 8 ? Number(bytes.readBigUInt64LE(0)) : Infinity;
  if (headerBytes > bytes.length - 8) throw damaged('header');
  const tensors = new Map<string, Float32Array>();
  for (const [name, entry] of Object.entries(parseHeader(bytes.toString('utf8', 8, 8 + headerBytes)))) {
    const { dtype, data_offsets: offsets } = entry;
    const data = bytes.subarray(8 + headerBytes + offsets[0], 8 + headerBytes + offsets[1]);
    if (data.length !== offsets[1] - offsets[0]) throw damaged(quoted(name));
    if (dtype === 'F32')
      tensors.set(
        name,
        Float32Array.from({ length: data.length / 4 }, (_, i) => data.readFloatLE(i * 4)),
      );
    if (dtype === 'F16')
      tensors.set(
        name,
        Float32Array.from({ length: data.length / 2 }, (_, i) => half(data.readUInt16LE(i * 2))),
      );
  }
  return tensors;
}

function parseHeader(text: string): z.infer<typeof header> {
  let content: unknown;
  try {
    content = JSON.parse(text, (key, value: unknown) => (key === '__metadata__' ? undefined : value));
  } catch {
    throw damaged('header');
  }
  const parsed = header.safeParse(content);
  if (!parsed.success) throw damaged('header');
  return parsed.data;
}

/** IEEE 754 binary16 → number. */
function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
