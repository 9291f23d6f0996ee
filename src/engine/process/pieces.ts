/**
 * Large messages between the processes: their arrays cross in pieces ahead of the message, so that one message holds neither
 * side's thread for long. Never changes a value: what comes out equals what went in.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What crosses ahead of the message with the same id; pieces fill the arrays one after another. */
export type ArraysMessage =
  | { readonly kind: 'arrays'; readonly id: number; readonly shapes: readonly ArrayShape[] }
  | { readonly kind: 'piece'; readonly id: number; readonly bytes: Uint8Array };

export interface ArrayShape {
  readonly type: keyof typeof TYPES;
  readonly length: number;
}

const TYPES = { Int8Array, Uint8Array, Int16Array, Uint16Array, Uint32Array, Float32Array } as const;
type Numbers = InstanceType<(typeof TYPES)[keyof typeof TYPES]>;

/** Stands where an array was: its place among those of the message. */
const ARRAY_AT = 'longview array';
/** A message whose arrays have no more bytes crosses whole; a piece has no more. */
export const MOST_PIECE_BYTES = 1 << 20;

/** The value without its arrays, and these; undefined where it is small enough to cross whole. */
export function takeApart(
  value: unknown,
): { readonly value: unknown; readonly arrays: readonly Numbers[] } | undefined {
  const arrays: Numbers[] = [];
  const without = replaced(value, part => {
    if (!isNumbers(part)) return undefined;
    return { [ARRAY_AT]: arrays.push(part) - 1 };
  });
  const bytes = arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  return bytes > MOST_PIECE_BYTES ? { value: without, arrays } : undefined;
}

/** Sends the arrays with breaks for other work; `send` resolves when its message is copied and there is room for the next. */
export async function sendArrays(
  id: number,
  arrays: readonly Numbers[],
  send: (message: ArraysMessage) => Promise<void>,
): Promise<void> {
  const shapes = arrays.map(({ constructor, length }) => ({ type: constructor.name as ArrayShape['type'], length }));
  await send({ kind: 'arrays', id, shapes });
  const piece = new Uint8Array(MOST_PIECE_BYTES);
  let filled = 0;
  const flush = async (): Promise<void> => {
    await send({ kind: 'piece', id, bytes: piece.subarray(0, filled) });
    await nextTurn();
    filled = 0;
  };
  for (const { buffer, byteOffset, byteLength } of arrays) {
    for (let at = 0; at < byteLength;) {
      const length = Math.min(byteLength - at, MOST_PIECE_BYTES - filled);
      piece.set(new Uint8Array(buffer, byteOffset + at, length), filled);
      at += length;
      filled += length;
      if (filled === MOST_PIECE_BYTES) await flush();
    }
  }
  if (filled > 0) await flush();
}

/** The arrays of messages that are on their way. */
export class ArrivingArrays {
  private readonly arriving = new Map<number, { readonly arrays: Numbers[]; array: number; at: number }>();

  receive(message: ArraysMessage): void {
    if (message.kind === 'arrays') {
      const arrays = message.shapes.map(({ type, length }) => new TYPES[type](length));
      this.arriving.set(message.id, { arrays, array: 0, at: 0 });
      return;
    }
    const target = this.arriving.get(message.id);
    for (let { bytes } = message; target && bytes.byteLength > 0;) {
      const { buffer, byteLength } = target.arrays[target.array]!;
      const part = bytes.subarray(0, byteLength - target.at);
      new Uint8Array(buffer).set(part, target.at);
      bytes = bytes.subarray(part.byteLength);
      target.at += part.byteLength;
      if (target.at < byteLength) continue;
      target.array++;
      target.at = 0;
    }
  }

  /** The value of a message with its arrays in place again. */
  complete(id: number, value: unknown): unknown {
    const { arrays } = this.arriving.get(id) ?? {};
    if (arrays === undefined) return value;
    this.arriving.delete(id);
    return replaced(value, part => arrays[(part as Record<string, number>)[ARRAY_AT] ?? -1]);
  }

  /** Lets go of what the other side did not end. */
  clear(): void {
    this.arriving.clear();
  }
}

/** A copy with those objects replaced for which there is something instead. */
function replaced(value: unknown, instead: (part: object) => unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  const other = instead(value);
  if (other !== undefined) return other;
  if (Array.isArray(value)) return value.map(part => replaced(part, instead));
  if (ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, replaced(part, instead)]));
}

function isNumbers(part: object): part is Numbers {
  return ArrayBuffer.isView(part) && Object.hasOwn(TYPES, part.constructor.name);
}
