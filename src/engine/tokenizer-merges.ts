/**
 * Byte pair merges over ids: the pair of lowest rank first, of equal ones the leftmost, until none is left. Our own,
 * since the package's merges took 6 s for a megabyte of base64 (this: 0.5 s); time is n log n in a piece's length.
 */

/** Places in a piece stay under this (a stretch of text is 16,384 characters, at most 3 bytes each). */
const PLACE_LIMIT = 65_536;

export class Merges {
  /** Pair of ids → rank. */
  private readonly ranks: PairTable;
  /** By rank: the id of the two together. */
  private readonly merged: number[] = [];
  private readonly queue = new MinQueue();

  /** Merges whose parts or whole are no tokens can never be made and are left out. */
  constructor(merges: readonly (string | readonly [string, string])[], idOf: (token: string) => number | undefined) {
    this.ranks = new PairTable(merges.length);
    for (const merge of merges) {
      const [left = '', right = ''] = typeof merge === 'string' ? merge.split(' ', 2) : merge;
      const [a, b, both] = [idOf(left), idOf(right), idOf(left + right)];
      if (a === undefined || b === undefined || both === undefined) continue;
      if (this.ranks.add(a, b, this.merged.length)) this.merged.push(both);
    }
  }

  /** Merges `ids` as far as it goes. */
  apply(ids: readonly number[]): number[] {
    const n = ids.length;
    if (n < 2) return [...ids];
    if (n >= PLACE_LIMIT) throw new RangeError(`a piece of ${n} bytes`);
    // A doubly linked list over places: a merge keeps the left place, and -1 marks the right one as gone.
    const id = Int32Array.from(ids);
    const next = Int32Array.from({ length: n }, (_, i) => i + 1);
    const previous = Int32Array.from({ length: n }, (_, i) => i - 1);
    const rankAt = (place: number) => this.ranks.rank(id[place]!, id[next[place]!]!);
    const offer = (place: number) => {
      const rank = next[place]! < n ? rankAt(place) : -1;
      if (rank >= 0) this.queue.push(rank * PLACE_LIMIT + place);
    };
    for (let place = 0; place < n - 1; place++) offer(place);
    for (let least = this.queue.pop(); least !== undefined; least = this.queue.pop()) {
      const place = least % PLACE_LIMIT;
      const rank = (least - place) / PLACE_LIMIT;
      // The pair may have changed since it was queued.
      if (id[place]! < 0 || next[place]! >= n || rankAt(place) !== rank) continue;
      const right = next[place]!;
      id[place] = this.merged[rank]!;
      id[right] = -1;
      next[place] = next[right]!;
      if (next[right]! < n) previous[next[right]!] = place;
      offer(place);
      if (previous[place]! >= 0) offer(previous[place]!);
    }
    return Array.from(id.filter(value => value >= 0));
  }
}

/** Pairs of ids → rank in flat arrays: a hash table with linear probing, at most half full. */
class PairTable {
  private readonly mask: number;
  private readonly left: Int32Array;
  private readonly right: Int32Array;
  private readonly ranks: Int32Array;

  constructor(pairs: number) {
    const size = 2 ** Math.ceil(Math.log2(2 * pairs + 2));
    this.mask = size - 1;
    this.left = new Int32Array(size).fill(-1);
    this.right = new Int32Array(size);
    this.ranks = new Int32Array(size);
  }

  /** False where the pair is there already. */
  add(left: number, right: number, rank: number): boolean {
    const at = this.find(left, right);
    if (this.left[at]! >= 0) return false;
    this.left[at] = left;
    this.right[at] = right;
    this.ranks[at] = rank;
    return true;
  }

  /** -1 for a pair that does not merge. */
  rank(left: number, right: number): number {
    const at = this.find(left, right);
    return this.left[at]! < 0 ? -1 : this.ranks[at]!;
  }

  /** Where the pair is, or the free place where it would be. */
  private find(left: number, right: number): number {
    const hash = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b);
    let at = (hash ^ (hash >>> 15)) & this.mask;
    while (this.left[at]! >= 0 && (this.left[at] !== left || this.right[at] !== right)) at = (at + 1) & this.mask;
    return at;
  }
}

/** A binary heap of numbers, least first. */
class MinQueue {
  private readonly heap: number[] = [];

  push(value: number): void {
    const { heap } = this;
    let at = heap.length;
    heap.push(value);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (heap[parent]! <= value) break;
      heap[at] = heap[parent]!;
      at = parent;
    }
    heap[at] = value;
  }

  pop(): number | undefined {
    const { heap } = this;
    const least = heap[0];
    const value = heap.pop();
    if (value === undefined || heap.length === 0) return least;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= value) break;
      heap[at] = heap[child]!;
      at = child;
    }
    heap[at] = value;
    return least;
  }
}
