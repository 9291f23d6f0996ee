/** A tiny Hugging Face folder to damage: one layer, 2 query heads, width 16, a byte-level tokenizer; and its parts. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { tinyModel, writeTinyModel } from '../reference/tiny-model.js';
import type { TinyModelOptions } from '../reference/tiny-model.js';
import { overwrite } from './overwrite.js';

export type Header = Record<string, { dtype: string; shape: number[]; data_offsets: [number, number] }>;

export class TinyCheckpoint {
  readonly folder = mkdtempSync(join(tmpdir(), 'longview-fuzz-'));
  readonly config: Record<string, unknown>;
  readonly weights: Buffer;
  /** The weights file in its two parts. */
  readonly header: Header;
  readonly data: Buffer;

  constructor(options: TinyModelOptions = {}) {
    const tiny = { layers: 1, width: 16, heads: 2, keyHeads: 1, headSize: 8, mlpWidth: 16, vocabulary: 32 };
    writeTinyModel(tinyModel({ ...tiny, ...options }), this.folder);
    this.config = JSON.parse(readFileSync(this.path('config.json'), 'utf8')) as Record<string, unknown>;
    this.weights = readFileSync(this.path('model.safetensors'));
    const start = 8 + Number(this.weights.readBigUInt64LE(0));
    this.header = JSON.parse(this.weights.toString('utf8', 8, start)) as Header;
    this.data = this.weights.subarray(start);
  }

  path(name: string): string {
    return join(this.folder, name);
  }

  write(name: string, content: Uint8Array | string): void {
    overwrite(this.path(name), content);
  }

  dispose(): void {
    rmSync(this.folder, { recursive: true });
  }
}

/** A weights file with any header, its length told rightly. */
export function safetensorsOf(header: Uint8Array, data: Uint8Array): Buffer {
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(header.length));
  return Buffer.concat([length, header, data]);
}
