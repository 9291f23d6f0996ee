/**
 * Rows of stored tensors as float32 or raw blocks, at most 4 MiB of file at a time. Knows where tensors lie; knows
 * nothing of file kinds or configs.
 */
import { LongviewError, quoted } from '../../base/index.js';
import type { ByteSource } from './byte-source.js';
import type { QuantisedBlocks, TensorInfo } from './checkpoint.js';
import { blockOf, decodeBlocks } from './ggml-types.js';
import { halfToFloat } from './half.js';

const PIECE = 4 << 20;

export interface StoredTensor extends TensorInfo {
  readonly source: ByteSource;
  /** Bytes from the start of the file. */
  readonly offset: number;
}

/** A run of whole blocks of one tensor. */
interface Run {
  readonly offset: number;
  readonly bytes: number;
  readonly elements: number;
  readonly rows: number;
}

/** Throws `usage` for rows outside the tensor, or rows that do not fall on whole blocks. */
function runOf(name: string, tensor: StoredTensor, rowStart: number, rowCount: number | undefined): Run {
  // A scalar is one row of one element.
  const [rows = 1, ...rest] = tensor.shape;
  const count = rowCount ?? rows - rowStart;
  if (!Number.isInteger(rowStart) || !Number.isInteger(count) || rowStart < 0 || count < 0 || rowStart + count > rows) {
    throw new LongviewError(
      'usage',
      `Rows ${rowStart} to ${rowStart + count} are not inside ${quoted(name)} (${rows} rows).`,
    );
  }
  const rowElements = rest.reduce((a, b) => a * b, 1);
  const block = blockOf(tensor.dtype);
  const first = rowStart * rowElements;
  const elements = count * rowElements;
  if (first % block.elements !== 0 || elements % block.elements !== 0) {
    throw new LongviewError('usage', `Rows of ${quoted(name)} can only be read in whole ${tensor.dtype} blocks.`);
  }
  return {
    offset: tensor.offset + (first / block.elements) * block.bytes,
    bytes: (elements / block.elements) * block.bytes,
    elements,
    rows: count,
  };
}

/** Calls `use` with successive pieces of whole blocks. */
async function forPieces(
  tensor: StoredTensor,
  run: Run,
  use: (bytes: Uint8Array, firstElement: number) => void,
): Promise<void> {
  const block = blockOf(tensor.dtype);
  const step = Math.floor(PIECE / block.bytes) * block.bytes;
  for (let done = 0; done < run.bytes; done += step) {
    const bytes = await tensor.source.read(run.offset + done, Math.min(step, run.bytes - done));
    use(bytes, (done / block.bytes) * block.elements);
  }
}

/** Rows as float32, flat. */
export async function readRows(
  name: string,
  tensor: StoredTensor,
  rowStart = 0,
  rowCount?: number,
): Promise<Float32Array> {
  const run = runOf(name, tensor, rowStart, rowCount);
  const out = new Float32Array(run.elements);
  await forPieces(tensor, run, (bytes, at) => decodeBlocks(tensor.dtype, bytes, out, at));
  return out;
}

/** Rows as stored blocks of 32; undefined for other types. */
export async function readRowBlocks(
  name: string,
  tensor: StoredTensor,
  rowStart = 0,
  rowCount?: number,
): Promise<QuantisedBlocks | undefined> {
  const { dtype } = tensor;
  if (dtype !== 'Q8_0' && dtype !== 'Q4_0' && dtype !== 'Q4_1') return undefined;
  const run = runOf(name, tensor, rowStart, rowCount);
  const count = run.elements / 32;
  const scales = new Float32Array(count);
  const mins = dtype === 'Q4_1' ? new Float32Array(count) : undefined;
  const values = new Int8Array(run.elements);
  const { bytes: size } = blockOf(dtype);
  const offset = dtype === 'Q4_0' ? 8 : 0;
  await forPieces(tensor, run, (bytes, firstElement) => {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let p = 0, b = firstElement / 32; p < bytes.length; p += size, b++) {
      scales[b] = halfToFloat(view.getUint16(p, true));
      if (mins) mins[b] = halfToFloat(view.getUint16(p + 2, true));
      const to = b * 32;
      if (dtype === 'Q8_0') {
        for (let i = 0; i < 32; i++) values[to + i] = view.getInt8(p + 2 + i);
        continue;
      }
      for (let i = 0; i < 16; i++) {
        const byte = bytes[p + size - 16 + i]!;
        values[to + i] = (byte & 15) - offset;
        values[to + i + 16] = (byte >> 4) - offset;
      }
    }
  });
  const blocksPerRow = run.rows === 0 ? 0 : count / run.rows;
  return { dtype, rows: run.rows, blocksPerRow, blockSize: 32, scales, ...(mins && { mins }), values };
}
