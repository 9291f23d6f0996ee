/**
 * A weights file of a model's graphs, written from front to back. Never holds more than one tensor's part.
 */
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import type { ElementType, WeightPlace } from '../onnx/index.js';

/** Page size: onnxruntime maps external data from page boundaries. */
const ALIGNMENT = 4096;

/** Uint16Array: the bits of float16. */
export type WeightValues = Float32Array | Uint16Array | Int8Array | Uint8Array;

export class WeightsFile {
  private position = 0;
  private readonly hash = createHash('sha256');

  private constructor(
    private readonly file: FileHandle,
    private readonly name: string,
  ) {}

  static async create(path: string): Promise<WeightsFile> {
    return new WeightsFile(await open(path, 'w'), basename(path));
  }

  /** Writes a tensor that comes in parts, in row order. */
  async write(
    shape: readonly number[],
    parts: Iterable<WeightValues> | AsyncIterable<WeightValues>,
  ): Promise<WeightPlace> {
    const padding = (ALIGNMENT - (this.position % ALIGNMENT)) % ALIGNMENT;
    if (padding > 0) await this.append(new Uint8Array(padding));
    const offset = this.position;
    let type: ElementType = 'float32';
    for await (const part of parts) {
      type = elementType(part);
      await this.append(new Uint8Array(part.buffer, part.byteOffset, part.byteLength));
    }
    return { file: this.name, type, shape, offset, bytes: this.position - offset };
  }

  /** Flushes to the disk and closes; gives size and SHA-256. */
  async finish(): Promise<{ bytes: number; sha256: string }> {
    await this.file.sync();
    await this.file.close();
    return { bytes: this.position, sha256: this.hash.digest('hex') };
  }

  async abandon(): Promise<void> {
    await this.file.close().catch(() => undefined);
  }

  private async append(bytes: Uint8Array): Promise<void> {
    this.hash.update(bytes);
    let written = 0;
    while (written < bytes.length) written += (await this.file.write(bytes, written)).bytesWritten;
    this.position += bytes.length;
  }
}

function elementType(values: WeightValues): ElementType {
  if (values instanceof Float32Array) return 'float32';
  if (values instanceof Int8Array) return 'int8';
  return values instanceof Uint16Array ? 'float16' : 'uint8';
}
