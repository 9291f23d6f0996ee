/**
 * Follows the trees of an LMDB data file in the order of their keys, past what is broken, and says what that is: the check
 * before LMDB maps a file (`data-file.ts`), and the way to what is left of a damaged one (`salvage.ts`). Looks at every
 * branch and leaf page, at the free list, and at the first page of values that lie elsewhere. Never writes.
 */
import { GiveWay } from '../give-way.js';
import { NO_PAGE, treeOf } from './page-file.js';
import type { LeafEntry, Meta, Page, PageFile, Tree } from './page-file.js';

/** What a walk may know of a snapshot: all of it, or no more than its main tree, where the meta page is lost. */
export type Snapshot = Pick<Meta, 'main' | 'transaction' | 'lastPage'> & Partial<Pick<Meta, 'free'>>;

export interface Walk {
  /** What is broken, in the order of finding. */
  readonly faults: readonly string[];
  /** Of each page up to the last that was ever used: 0 = not met, 1 = in a tree, 2 = free. */
  readonly uses: Uint8Array;
  /** Whether all free pages are known. */
  readonly freeIsWhole: boolean;
}

export interface WalkOptions {
  /** Stop at the first fault. */
  readonly atFirst?: boolean;
  /** Called for entries of named trees, in their order, from pages that are sound. */
  readonly onEntry?: (entry: LeafEntry) => void;
}

interface Found {
  depth: number;
  branches: number;
  leaves: number;
  overflows: number;
  entries: number;
}

/** Where the keys of a page must lie: `[from, to)`. */
interface Bounds {
  readonly from?: Buffer;
  readonly to?: Buffer;
}

const IN_TREE = 1;
const FREE = 2;
/** Pages that were used once and that the file does not hold any more; more of them is damage. */
const MOST_PAGES_BEHIND = 4_000_000;
/** LMDB's own limit. */
const MOST_DEPTH = 32;
/** Numbers as keys, of the host's byte order. */
const NUMBER_KEYS = 8;
/** Flags that change how keys and values are laid out: reverse and number keys, several values of a key. */
const LAYOUT_FLAGS = 0x7e;

export async function walkPages(file: PageFile, snapshot: Snapshot, options: WalkOptions = {}): Promise<Walk> {
  const walker = new Walker(file, snapshot, options);
  await walker.walkAll();
  return walker;
}

class Walker implements Walk {
  readonly faults: string[] = [];
  readonly uses: Uint8Array;
  freeIsWhole = false;
  private readonly others = new GiveWay();

  constructor(
    private readonly file: PageFile,
    private readonly snapshot: Snapshot,
    private readonly options: WalkOptions,
  ) {
    this.uses = new Uint8Array(Math.min(snapshot.lastPage + 1, file.pages + MOST_PAGES_BEHIND));
  }

  async walkAll(): Promise<void> {
    const { main, free } = this.snapshot;
    const named: [string, Tree][] = [];
    await this.walkTree('main', main, 0, entry => {
      const tree = treeOf(entry);
      const name = JSON.stringify(entry.key.toString('latin1').replace('\0', ''));
      if (tree === undefined) this.fault(`${name} is no tree`);
      else named.push([name, tree]);
    });
    for (const [name, tree] of named) {
      await this.walkTree(name, tree, 0, entry => {
        if (entry.isTree) this.fault(`a tree in ${name}`);
        else this.options.onEntry?.(entry);
      });
    }
    if (free === undefined) return;
    const before = this.faults.length;
    await this.walkTree('free list', free, NUMBER_KEYS, entry => this.walkFree(entry));
    this.freeIsWhole = this.faults.length === before;
    // The file may end before the last page that was ever used, if those pages are free.
    const behind = this.uses.subarray(this.file.pages);
    if (this.uses.length <= this.snapshot.lastPage || behind.some(use => use !== FREE)) this.fault('pages are missing');
  }

  private get isDone(): boolean {
    return this.options.atFirst === true && this.faults.length > 0;
  }

  private fault(text: string): void {
    this.faults.push(text);
  }

  private async walkTree(name: string, tree: Tree, flags: number, onEntry: (entry: LeafEntry) => void): Promise<void> {
    if (this.isDone) return;
    if ((tree.flags & LAYOUT_FLAGS) !== flags) this.fault(`flags of ${name} are ${tree.flags}`);
    const found: Found = { depth: 0, branches: 0, leaves: 0, overflows: 0, entries: 0 };
    const before = this.faults.length;
    const order = flags === NUMBER_KEYS ? compareNumbers : compareBytes;
    if (tree.root !== NO_PAGE) await this.walkPage(tree.root, 1, {}, order, found, onEntry);
    const wrong = (Object.keys(found) as (keyof Found)[]).find(count => found[count] !== tree[count]);
    if (wrong !== undefined && this.faults.length === before) this.fault(`${name} has other ${wrong} than it says`);
  }

  private async walkPage(
    number: number,
    depth: number,
    bounds: Bounds,
    order: (a: Buffer, b: Buffer) => number,
    found: Found,
    onEntry: (entry: LeafEntry) => void,
  ): Promise<void> {
    await this.others.step();
    if (this.isDone) return;
    const page = this.soundPage(number, depth, bounds, order, found);
    if (typeof page === 'string') {
      this.fault(page);
      return;
    }
    this.uses[number] = IN_TREE;
    if (page.kind === 'leaf') {
      found.depth = depth;
      found.leaves++;
      for (const entry of page.entries) {
        found.entries++;
        const elsewhere = this.takeElsewhere(entry);
        if (typeof elsewhere === 'string') this.fault(elsewhere);
        else {
          found.overflows += elsewhere;
          onEntry(entry);
        }
      }
      return;
    }
    found.branches++;
    for (const [at, { key, child }] of page.entries.entries()) {
      const inner = { from: at === 0 ? bounds.from : key, to: page.entries[at + 1]?.key ?? bounds.to };
      await this.walkPage(child, depth + 1, inner, order, found, onEntry);
    }
  }

  private soundPage(
    number: number,
    depth: number,
    { from, to }: Bounds,
    order: (a: Buffer, b: Buffer) => number,
    found: Found,
  ): Page | string {
    const page = this.file.page(number);
    if (typeof page === 'string') return page;
    const { lastPage, transaction } = this.snapshot;
    if (number > lastPage || page.transaction > transaction) return `page ${number} is of another time`;
    if (this.uses[number] !== 0) return `page ${number} is used twice`;
    if (depth > MOST_DEPTH) return `page ${number} lies too deep`;
    const fewest = page.kind === 'branch' && order !== compareNumbers ? 2 : 1;
    if (page.entries.length < fewest) return `page ${number} is empty`;
    if (page.kind === 'leaf' && found.leaves > 0 && found.depth !== depth)
      return `page ${number} lies at another depth`;
    // The first key of a branch page is never looked at.
    const keys = page.entries.slice(page.kind === 'branch' ? 1 : 0).map(entry => entry.key);
    const [first, last] = [keys[0], keys.at(-1)];
    if (first === undefined || last === undefined) return page;
    const isOrdered = keys.every((key, at) => key.byteLength > 0 && (at === 0 || order(keys[at - 1]!, key) < 0));
    const isInside = (from === undefined || order(from, first) <= 0) && (to === undefined || order(last, to) < 0);
    return isOrdered && isInside ? page : `page ${number} has keys out of order`;
  }

  /** Pages of a value that lies elsewhere, or what is wrong with that. */
  private takeElsewhere(entry: LeafEntry): number | string {
    if (entry.elsewhere === undefined) return 0;
    const count = entry.elsewherePages ?? 0;
    const end = entry.elsewhere + count;
    if (entry.elsewhere < 2 || end > this.file.pages || end - 1 > this.snapshot.lastPage) {
      return `page ${end - 1} is missing`;
    }
    const head = this.file.overflow(entry.elsewhere);
    const isItsHead =
      head?.pages === count && head.transaction <= this.snapshot.transaction && this.file.overflowPages(entry) <= count;
    return isItsHead ? (this.take(entry.elsewhere, count, IN_TREE) ?? count) : `page ${entry.elsewhere} is broken`;
  }

  /** Length, then pages, a run of n pages as -n and the first, 0 for nothing. */
  private walkFree(entry: LeafEntry): void {
    const value = this.file.value(entry);
    const isList = value !== undefined && value.byteLength === entry.length && entry.length % 8 === 0;
    const numbers = isList ? Array.from({ length: entry.length / 8 }, (_, at) => signedAt(value, at)) : [];
    const [length = -1, ...list] = numbers;
    let fault = length < 0 || length > list.length ? 'a part of the free list is broken' : undefined;
    for (let at = 0; at < length && fault === undefined; at++) {
      const number = list[at]!;
      if (number === 0) continue;
      const first = number > 0 ? number : (list[++at] ?? 0);
      const count = Math.max(1, -number);
      const isPage = first >= 2 && at < length && first + count - 1 <= this.snapshot.lastPage;
      fault = isPage ? this.take(first, count, FREE) : 'a part of the free list is broken';
    }
    if (fault !== undefined) this.fault(fault);
  }

  private take(first: number, count: number, use: number): string | undefined {
    const part = this.uses.subarray(first, first + count);
    if (part.some(other => other !== 0)) return `page ${first} or a later one is used twice`;
    part.fill(use);
    return undefined;
  }
}

function compareBytes(a: Buffer, b: Buffer): number {
  return Buffer.compare(a, b);
}

function compareNumbers(a: Buffer, b: Buffer): number {
  if (a.byteLength !== 8 || b.byteLength !== 8) return 1;
  const [x, y] = [a.readBigUInt64LE(), b.readBigUInt64LE()];
  return x < y ? -1 : x > y ? 1 : 0;
}

function signedAt(bytes: Buffer, at: number): number {
  return Number(bytes.readBigInt64LE(8 * at));
}
