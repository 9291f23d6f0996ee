/**
 * The heads that look things up and their fitted values (recall.md): query maps, row directions and five numbers a head,
 * from the model's `recall.safetensors`. Queries are mapped and weighed here; keys stay what the model computes.
 */
import type { RecallParameters } from './engine.js';
import type { Manifest } from './graph-contract.js';
import { damagedValues, readRecallValues } from './recall-values.js';
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
    /** float32 [heads,d]; absent: all rows count the same. */
    private readonly rowDirection: Float32Array | undefined,
  ) {}

  /** A model without recall settings has no recall heads. Throws `bad-format` for values that do not fit the manifest. */
  static async load(folder: string, manifest: Manifest): Promise<RecallHeads> {
    const { heads, keyHeads, headSize, layers } = manifest.architecture;
    const queryHeads = manifest.recall?.heads ?? [];
    for (const [layer, head] of queryHeads) {
      if (!(layer >= 0 && layer < layers && head >= 0 && head < heads)) throw damagedValues('a head out of range');
    }
    const distinct: KeyHead[] = [];
    const keyHeadOf = queryHeads.map(([layer, head]) => {
      const keyHead = Math.floor((head * keyHeads) / heads);
      const known = distinct.findIndex(found => found.layer === layer && found.head === keyHead);
      return known >= 0 ? known : distinct.push({ layer, head: keyHead }) - 1;
    });
    const values = queryHeads.length > 0 ? await readRecallValues(folder) : new Map<string, Float32Array>();
    const perHead = (name: string): number[] => {
      const found = queryHeads.length > 0 ? values.get(name) : new Float32Array(0);
      if (found?.length !== queryHeads.length) throw damagedValues(name);
      if (!found.every(Number.isFinite)) throw damagedValues(name);
      return [...found];
    };
    const queryMap = values.get('query_map') ?? new Float32Array(queryHeads.length * headSize * headSize);
    if (queryMap.length !== queryHeads.length * headSize * headSize || !queryMap.every(Number.isFinite)) {
      throw damagedValues('query_map');
    }
    const rowDirection = values.get('row_direction');
    if (
      rowDirection &&
      (rowDirection.length !== queryHeads.length * headSize || !rowDirection.every(Number.isFinite))
    ) {
      throw damagedValues('row_direction');
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
      rowDirection,
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

  /**
   * What each row of one recall head counts, float32 [R]: softmax over the rows of `q / sqrt(d) · direction`, q being the
   * row as it is rotated, before its map. Rows as `mapQueries` takes them.
   */
  weighRows(head: number, rows: Float32Array, frequencies: readonly number[], position: number): Float32Array {
    const size = 2 * frequencies.length;
    const count = rows.length / size;
    const direction = this.rowDirection?.subarray(head * size, (head + 1) * size);
    if (!direction) return new Float32Array(count).fill(1 / count);
    const rotated = Float32Array.from(rows);
    rotateRows(rotated, rotationOf(frequencies, position, 1));
    const logits = Array.from({ length: count }, (_, row) => {
      let sum = 0;
      for (let i = 0; i < size; i++) sum += rotated[row * size + i]! * direction[i]!;
      return sum / Math.sqrt(size);
    });
    const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
    const weights = logits.map(logit => Math.exp(logit - most));
    const total = weights.reduce((a, b) => a + b, 0);
    return Float32Array.from(weights, weight => weight / total);
  }
}
