/** Attention on recall slots and its gradients in float64, written from the formula row by row: what the graphs must give. */
import type { HeadAttention, HeadSlots, Look } from '../../src/engine/index.js';

interface Rows {
  /** [R][d], [R][d], [N][d] (in real numbers), [R][N]. */
  readonly plain: number[][];
  readonly mapped: number[][];
  readonly keys: number[][];
  readonly attention: number[][];
}

export class PlainAttention implements HeadAttention {
  constructor(private readonly size: number) {}

  attend(look: Look): Promise<Float32Array> {
    return Promise.resolve(floats(this.rowsOf(look).attention.flat()));
  }

  gradients(look: Look, _: Float32Array, gradient: Float32Array): ReturnType<HeadAttention['gradients']> {
    const { plain, mapped, keys, attention } = this.rowsOf(look);
    const { size } = this;
    const map = new Array<number>(size * size).fill(0);
    let logTemperature = 0;
    attention.forEach((shares, row) => {
      const own = gradient.subarray(row * keys.length, (row + 1) * keys.length);
      const mean = shares.reduce((sum, share, slot) => sum + share * own[slot]!, 0);
      for (let j = 0; j < size; j++) {
        const byMapped = shares.reduce((sum, share, slot) => sum + share * (own[slot]! - mean) * keys[slot]![j]!, 0);
        logTemperature += byMapped * mapped[row]![j]!;
        for (let i = 0; i < size; i++) map[i * size + j]! += plain[row]![i]! * byMapped * look.temperature;
      }
    });
    return Promise.resolve({ map: floats(map), logTemperature });
  }

  private rowsOf({ rows, map, temperature, slots }: Look): Rows {
    const { size } = this;
    const plain = inRows(rows, size);
    const mapped = plain.map(row =>
      row.map((value, j) => (value + row.reduce((sum, own, i) => sum + own * map[i * size + j]!, 0)) * temperature),
    );
    const keys = keysOf(slots, size);
    const attention = mapped.map(row => {
      const powers = keys.map((key, slot) =>
        Math.exp(key.reduce((sum, value, i) => sum + value * row[i]!, slots.logCounts[slot]!)),
      );
      const total = powers.reduce((a, b) => a + b, 0);
      return powers.map(power => power / total);
    });
    return { plain, mapped, keys, attention };
  }
}

export function keysOf({ keys, scales }: HeadSlots, size: number): number[][] {
  return inRows(keys, size).map((key, slot) => key.map(value => value * scales[slot]!));
}

function inRows(values: Float32Array | Int8Array, size: number): number[][] {
  return Array.from({ length: values.length / size }, (_, i) => [...values.subarray(i * size, (i + 1) * size)]);
}

/** Float64 behind the contract's type, so that differences are not lost in rounding. */
function floats(values: readonly number[]): Float32Array {
  return Float64Array.from(values) as unknown as Float32Array;
}
