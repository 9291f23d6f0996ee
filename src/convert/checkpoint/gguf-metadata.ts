/** Typed look-ups in GGUF metadata; every miss is a `bad-format` error that names the key. Never guesses a value. */
import type { ByteSource } from './byte-source.js';
import type { GgufValue } from './gguf-header.js';

export class MetadataReader {
  constructor(
    readonly source: ByteSource,
    private readonly values: ReadonlyMap<string, GgufValue>,
  ) {}

  optionalNumber(key: string): number | undefined {
    return this.optional(key, 'number');
  }

  number(key: string): number {
    return this.required(key, this.optionalNumber(key));
  }

  optionalText(key: string): string | undefined {
    return this.optional(key, 'string');
  }

  text(key: string): string {
    return this.required(key, this.optionalText(key));
  }

  optionalFlag(key: string): boolean | undefined {
    return this.optional(key, 'boolean');
  }

  /** Elements of an array, or undefined where there is none. */
  length(key: string): number | undefined {
    const value = this.values.get(key);
    return Array.isArray(value) ? value.length : undefined;
  }

  texts(key: string): readonly string[] {
    return this.array(key, 'string') as readonly string[];
  }

  numbers(key: string): readonly number[] {
    return this.array(key, 'number') as readonly number[];
  }

  private array(key: string, type: 'string' | 'number'): readonly unknown[] {
    const value = this.required(key, this.values.get(key));
    if (!Array.isArray(value) || (value.length > 0 && typeof value[0] !== type)) {
      throw this.source.bad(`metadatum ${key} is not an array of ${type}s`);
    }
    return value as readonly unknown[];
  }

  private optional<K extends 'number' | 'string' | 'boolean'>(
    key: string,
    type: K,
  ): { number: number; string: string; boolean: boolean }[K] | undefined {
    const value = this.values.get(key);
    if (value === undefined) return undefined;
    if (typeof value !== type) throw this.source.bad(`metadatum ${key} is not a ${type}`);
    return value as { number: number; string: string; boolean: boolean }[K];
  }

  private required<T>(key: string, value: T | undefined): T {
    if (value === undefined) throw this.source.bad(`metadatum ${key} is missing`);
    return value;
  }
}
