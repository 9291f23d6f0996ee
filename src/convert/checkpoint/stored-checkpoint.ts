/** `Checkpoint` over a table of stored tensors: the part that both file kinds share. Never parses a header. */
import { LongviewError, quoted } from '../../base/index.js';
import type { ByteSource } from './byte-source.js';
import type {
  Checkpoint,
  CheckpointConfig,
  Origin,
  QuantisedBlocks,
  TensorInfo,
  TokenizerFiles,
} from './checkpoint.js';
import { readRowBlocks, readRows } from './tensor-reader.js';
import type { StoredTensor } from './tensor-reader.js';

export interface StoredParts {
  readonly config: CheckpointConfig;
  readonly rotaryPairs: 'adjacent' | 'half';
  readonly origin: Origin;
  readonly sources: readonly ByteSource[];
  /** By canonical name. */
  readonly tensors: ReadonlyMap<string, StoredTensor>;
  /** By canonical name: the type's own name of tensors that are there but cannot be read. */
  readonly unreadable: ReadonlyMap<string, string>;
  readonly tokenizer: () => Promise<TokenizerFiles>;
}

export class StoredCheckpoint implements Checkpoint {
  readonly config: CheckpointConfig;
  readonly rotaryPairs: 'adjacent' | 'half';
  readonly origin: Origin;
  readonly tensorNames: readonly string[];

  constructor(private readonly parts: StoredParts) {
    this.config = parts.config;
    this.rotaryPairs = parts.rotaryPairs;
    this.origin = parts.origin;
    this.tensorNames = [...parts.tensors.keys()];
  }

  has(name: string): boolean {
    return this.parts.tensors.has(name);
  }

  tensor(name: string): TensorInfo {
    const { shape, dtype } = this.stored(name);
    return { shape, dtype };
  }

  async readFloat32(name: string, rowStart?: number, rowCount?: number): Promise<Float32Array> {
    const stored = this.stored(name);
    const values = await readRows(name, stored, rowStart, rowCount);
    if (!areFinite(values)) throw notFinite(name, stored);
    return values;
  }

  async readBlocks(name: string, rowStart?: number, rowCount?: number): Promise<QuantisedBlocks | undefined> {
    const stored = this.stored(name);
    const blocks = await readRowBlocks(name, stored, rowStart, rowCount);
    if (blocks && !(areFinite(blocks.scales) && (!blocks.mins || areFinite(blocks.mins))))
      throw notFinite(name, stored);
    return blocks;
  }

  tokenizer(): Promise<TokenizerFiles> {
    return this.parts.tokenizer();
  }

  async close(): Promise<void> {
    for (const source of this.parts.sources) await source.close();
  }

  private stored(name: string): StoredTensor {
    const stored = this.parts.tensors.get(name);
    if (stored) return stored;
    const type = this.parts.unreadable.get(name);
    if (type !== undefined) {
      throw new LongviewError(
        'unsupported',
        `${this.origin.path}: ${name} is stored as ${quoted(type)}, which Longview does not read; use a file in Q4_K_M, Q8_0 or F16.`,
      );
    }
    throw new LongviewError('bad-format', `${this.origin.path}: tensor ${name} is missing.`);
  }
}

function areFinite(values: Float32Array): boolean {
  // 0 times anything finite is 0; one sum over a tensor is much faster than a question a value.
  let zero = 0;
  for (let i = 0; i < values.length; i++) zero += values[i]! * 0;
  return zero === 0;
}

function notFinite(name: string, { source }: StoredTensor): LongviewError {
  return source.bad(
    `tensor ${quoted(name)} holds a value that is infinite or not a number; the file is damaged, get it again`,
  );
}
