/**
 * Header of a safetensors file: 8 bytes length N (little-endian), N bytes of JSON (name → dtype, shape, data_offsets),
 * then the data; offsets count from byte 8 + N. Bounds are checked against the file's size. Never reads data.
 */
import { z } from 'zod';
import { LongviewError, quoted } from '../../base/index.js';
import type { ByteSource } from './byte-source.js';
import { blockOf } from './ggml-types.js';
import type { StoredTensor } from './tensor-reader.js';

const MAX_HEADER = 100 << 20;

const size = z.number().int().nonnegative();
const entry = z.object({ dtype: z.string(), shape: z.array(size).max(8), data_offsets: z.tuple([size, size]) });

export interface SafetensorsTable {
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** Tensors of types that are not read: name → type. */
  readonly unreadable: ReadonlyMap<string, string>;
}

/** Throws `bad-format`. */
export async function readSafetensorsHeader(source: ByteSource): Promise<SafetensorsTable> {
  if (source.size < 10) throw source.bad(`has only ${source.size} bytes, too few for a safetensors header`);
  const prefix = await source.read(0, 8);
  const length = Number(new DataView(prefix.buffer).getBigUint64(0, true));
  if (length > source.size - 8 || length > MAX_HEADER) {
    throw source.bad(`says that its header has ${length} bytes, more than the file can hold`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(await source.read(8, length)));
  } catch (error) {
    if (error instanceof LongviewError) throw error;
    throw source.bad('its header is not JSON');
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
    throw source.bad('its header is not a JSON object');
  }
  const start = 8 + length;
  const tensors = new Map<string, StoredTensor>();
  const unreadable = new Map<string, string>();
  for (const [name, value] of Object.entries(parsed)) {
    if (name === '__metadata__') continue;
    const result = entry.safeParse(value);
    if (!result.success) throw source.bad(`tensor ${quoted(name)} has no valid dtype, shape and data_offsets`);
    const { dtype, shape, data_offsets: offsets } = result.data;
    const [from, to] = offsets;
    if (to < from || start + to > source.size) {
      throw source.bad(
        `tensor ${quoted(name)} ends at byte ${start + to}, the file at ${source.size}: it was cut off or is damaged`,
      );
    }
    if (dtype !== 'F32' && dtype !== 'F16' && dtype !== 'BF16') {
      unreadable.set(name, dtype);
      continue;
    }
    const elements = shape.reduce((a, b) => a * b, 1);
    if (elements * blockOf(dtype).bytes !== to - from) {
      throw source.bad(`tensor ${quoted(name)} of shape [${shape.join(', ')}] does not fill its ${to - from} bytes`);
    }
    tensors.set(name, { source, offset: start + from, shape, dtype });
  }
  refuseOverlap(source, tensors);
  return { tensors, unreadable };
}

function refuseOverlap(source: ByteSource, tensors: ReadonlyMap<string, StoredTensor>): void {
  let end = 0;
  const byOffset = [...tensors].sort((a, b) => a[1].offset - b[1].offset);
  for (const [name, { offset, shape, dtype }] of byOffset) {
    if (offset < end) throw source.bad(`tensor ${quoted(name)} overlaps another`);
    end = offset + shape.reduce((a, b) => a * b, 1) * blockOf(dtype).bytes;
  }
}
