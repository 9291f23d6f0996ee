/**
 * The files of the ledger as a tree of folders, level by level: a level is made when it is opened, from the sorted paths
 * alone, and long levels come in portions. Pure: knows nothing of the editor.
 */
import type { FileRow, FileState } from '../protocol/index.js';

export interface FolderNode {
  readonly kind: 'folder';
  /** Ends with `/`. */
  readonly path: string;
  readonly name: string;
  readonly files: number;
  readonly states: Readonly<Partial<Record<FileState, number>>>;
  readonly tokens: number;
}

export interface FileNode {
  readonly kind: 'file';
  readonly name: string;
  readonly row: FileRow;
}

/** The rest of a long level. */
export interface RestNode {
  readonly kind: 'rest';
  readonly path: string;
  readonly from: number;
  readonly count: number;
}

export type CoverageNode = FolderNode | FileNode | RestNode;

/** Nodes of a level that are made at once. */
const mostNodes = 1000;

export class CoverageTree {
  private readonly rows: readonly FileRow[];
  private readonly levels = new Map<string, readonly (FolderNode | FileNode)[]>();

  /** `only`: files of this state alone. */
  constructor(rows: readonly FileRow[], only?: FileState) {
    const wanted = only === undefined ? rows : rows.filter(row => row.state === only);
    this.rows = [...wanted].sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
  }

  get size(): number {
    return this.rows.length;
  }

  /** What lies in a folder (`''`, or a path that ends with `/`), folders first, from the node `from` on. */
  children(folder: string, from = 0): CoverageNode[] {
    let level = this.levels.get(folder);
    if (!level) {
      level = this.levelOf(folder);
      this.levels.set(folder, level);
    }
    const nodes: CoverageNode[] = level.slice(from, from + mostNodes);
    const rest = level.length - from - nodes.length;
    if (rest > 0) nodes.push({ kind: 'rest', path: folder, from: from + nodes.length, count: rest });
    return nodes;
  }

  /** Counts of everything in a folder. */
  summary(folder = ''): FolderNode {
    return this.folderOf(folder, this.firstFrom(folder), this.endOf(folder));
  }

  private levelOf(folder: string): (FolderNode | FileNode)[] {
    const folders: FolderNode[] = [];
    const files: FileNode[] = [];
    const end = this.endOf(folder);
    for (let at = this.firstFrom(folder); at < end;) {
      const row = this.rows[at]!;
      const slash = row.path.indexOf('/', folder.length);
      const below = slash < 0 ? row.path : row.path.slice(0, slash + 1);
      if (below === row.path) {
        // A folder that is skipped as a whole has a row of its own, which ends with `/`.
        files.push({ kind: 'file', name: row.path.slice(folder.length), row });
        at++;
      } else {
        const next = this.endOf(below);
        folders.push(this.folderOf(below, at, next));
        at = next;
      }
    }
    return [...folders, ...files];
  }

  private folderOf(path: string, begin: number, end: number): FolderNode {
    const states: Partial<Record<FileState, number>> = {};
    let tokens = 0;
    for (let at = begin; at < end; at++) {
      const row = this.rows[at]!;
      states[row.state] = (states[row.state] ?? 0) + 1;
      tokens += row.tokens;
    }
    const name = path.slice(path.lastIndexOf('/', path.length - 2) + 1, -1);
    return { kind: 'folder', path, name, files: end - begin, states, tokens };
  }

  private endOf(folder: string): number {
    // The sign after `/`: no path in the folder is as large, every path behind it is.
    return folder === '' ? this.rows.length : this.firstFrom(`${folder.slice(0, -1)}0`);
  }

  /** Index of the first row whose path is not smaller. */
  private firstFrom(path: string): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle]!.path < path) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
