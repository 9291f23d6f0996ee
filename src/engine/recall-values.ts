/** The tensors of a model's `recall.safetensors`. Small files only; never knows what they mean. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LongviewError, quoted } from '../base/index.js';
import { FILES } from './graph-contract.js';

export function damagedValues(what: string): LongviewError {
  return new LongviewError(
    'bad-format',
    `The model's recall values are damaged (${what}). Remove the model and add it again.`,
  );
}

const header = z.record(
  z.string(),
  z.looseObject({ dtype: z.string(), data_offsets: z.tuple([z.number().int().min(0), z.number().int().min(0)]) }),
);

/** Every F32 and F16 tensor as float32. Throws `bad-format`, also for a value that is no number. */
export async function readRecallValues(folder: string): Promise<Map<string, Float32Array>> {
  const bytes = await readFile(join(folder, FILES.recall)).catch(() => undefined);
  if (!bytes) throw damagedValues('no file');
  const headerBytes = bytes.length >= 8 ? Number(bytes.readBigUInt64LE(0)) : Infinity;
  if (headerBytes > bytes.length - 8) throw damagedValues('header');
  const tensors = new Map<string, Float32Array>();
  for (const [name, entry] of Object.entries(parseHeader(bytes.toString('utf8', 8, 8 + headerBytes)))) {
    const { dtype, data_offsets: offsets } = entry;
    const data = bytes.subarray(8 + headerBytes + offsets[0], 8 + headerBytes + offsets[1]);
    if (data.length !== offsets[1] - offsets[0]) throw damagedValues(quoted(name));
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
    throw damagedValues('header');
  }
  const parsed = header.safeParse(content);
  if (!parsed.success) throw damagedValues('header');
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
