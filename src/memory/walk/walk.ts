/**
 * Walks a workspace and says of each file whether it is to be read, and if not, why. One row for each file, in an order
 * that depends on nothing but the names; an ignored folder is one row. Never reads more than a sample of a file, never
 * leaves the workspace, and never throws for what it finds: an entry that cannot be read is a row.
 *
 * Symbolic links: one that leads inside the workspace is skipped as a link, for what it leads to is walked under its own
 * path, once, and judged there (so cycles cannot arise); one that leads outside or nowhere is skipped as that.
 *
 * Read next: `ignore-rules.ts` for what is ignored, `inspect-file.ts` for the verdict on a file.
 */
import { lstat, opendir, realpath, stat } from 'node:fs/promises';
import type { Stats } from 'node:fs';
import { join } from 'node:path';
import { VERSION_CONTROL, LongviewError, codeOf, throwIfCancelled } from '../../base/index.js';
import { rulesIn, startRules } from './ignore-files.js';
import type { IgnoreRules } from './ignore-rules.js';
import { inspectFile } from './inspect-file.js';
import { MOST_FILE_BYTES, isInside } from './read-text.js';
import { scopeIn, scopeOf } from './scope.js';
import type { Scope } from './scope.js';
import { isSecretFolder } from './secret-files.js';
import { skip } from './skip.js';
import type { SkipReason, Verdict, WalkedFile } from './skip.js';

export interface WalkOptions {
  /** Further globs to ignore, in `.gitignore` syntax plus `{a,b}`: the editor's excludes. A `.longviewignore` may take back. */
  readonly exclude?: readonly string[];
  /** Paths relative to the root, with `/`, that the user named: read whatever rules and name say, if they are text. */
  readonly named?: readonly string[];
  /** Extensions, such as `.pdf`, of binary formats that the caller can turn into text. */
  readonly documents?: readonly string[];
  /** Longer files are `too large`. 50 MB if not given. */
  readonly maxBytes?: number;
  /** The verdict on a file that did not change since an earlier walk: then it is not opened. Names, rules and links are judged anew. */
  readonly known?: (path: string, size: number, mtimeMs: number) => Verdict | undefined;
  /**
   * Only these paths, relative to the root with `/`, and what lies in them: the rows that the whole walk would give of them.
   * One exception: a link whose target changed is judged anew only where its own path is among them.
   */
  readonly only?: Iterable<string>;
  /** With `only`: told each path of which all was said: rows of earlier walks of it and of what lies in it are out of date. */
  readonly onCovered?: (path: string) => void;
  /** How many files are looked at at a time. 16 if not given. */
  readonly openFiles?: number;
  readonly signal?: AbortSignal;
}

/** Reasons that lie in where a file is, not in what it holds. */
const OF_ITS_PLACE: ReadonlySet<SkipReason> = new Set(['ignored', 'link', 'outside workspace', 'unreadable']);

/** What an entry turned out to be: a row, a folder to enter, or nothing to tell. */
type Found = { readonly row: WalkedFile } | { readonly enter: Folder } | undefined;

interface Folder {
  /** Relative to the root, with `/` at its end; empty for the root. */
  readonly path: string;
  readonly rules: IgnoreRules;
  readonly scope: Scope;
}

/** A folder that is being walked. */
interface Frame extends Folder {
  readonly names: readonly string[];
  next: number;
  /** Entries that were looked at and are to be told, in order. */
  ready: Found[];
}

/** Rows for all files under `root`. Throws `LongviewError`: `not-found` or `usage` if `root` is no folder, `cancelled`. */
export async function* walkWorkspace(root: string, options: WalkOptions = {}): AsyncGenerator<WalkedFile> {
  const walk = await Walk.start(root, options);
  yield* walk.rows();
}

class Walk {
  private readonly inspectOptions;
  private readonly atATime: number;

  private constructor(
    private readonly root: string,
    private readonly prefix: string,
    private readonly rules: IgnoreRules,
    private readonly options: WalkOptions,
  ) {
    this.atATime = Math.max(1, options.openFiles ?? 16);
    this.inspectOptions = {
      maxBytes: options.maxBytes ?? MOST_FILE_BYTES,
      documents: new Set(options.documents?.map(extension => extension.toLowerCase())),
    };
  }

  static async start(path: string, options: WalkOptions): Promise<Walk> {
    let root: string;
    try {
      root = await realpath(path);
      if (!(await stat(root)).isDirectory()) throw new LongviewError('usage', `${path} is not a folder.`);
    } catch (error) {
      if (error instanceof LongviewError) throw error;
      throw new LongviewError(codeOf(error), `Cannot open the folder ${path}. Check that it exists and may be read.`);
    }
    const { rules, prefix } = await startRules(root, options.exclude ?? [], options.named ?? []);
    return new Walk(root, prefix, rules, options);
  }

  async *rows(): AsyncGenerator<WalkedFile> {
    const stack: Frame[] = [];
    const { only } = this.options;
    const top = await this.open({ path: '', rules: this.rules, scope: only === undefined ? 'all' : scopeOf(only) });
    if ('row' in top)
      throw new LongviewError('permission', `Cannot list the folder ${this.root}. Check that it may be read.`);
    stack.push(top);
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      throwIfCancelled(this.options.signal);
      if (frame.ready.length === 0) {
        const { path, rules, scope } = frame;
        const batch = frame.names.slice(frame.next, frame.next + this.atATime);
        frame.next += batch.length;
        if (batch.length === 0) {
          stack.pop();
          continue;
        }
        frame.ready = await Promise.all(batch.map(name => this.look({ path, rules, scope }, name)));
      }
      const found = frame.ready.shift();
      if (found === undefined) continue;
      if ('row' in found) {
        yield found.row;
        continue;
      }
      const opened = await this.open(found.enter);
      if ('row' in opened) {
        this.covered(found.enter.path);
        yield opened.row;
      } else stack.push(opened);
    }
  }

  /** Lists a folder and reads the ignore files in it. */
  private async open(folder: Folder): Promise<Frame | { readonly row: WalkedFile }> {
    const absolutePath = join(this.root, folder.path);
    const names: string[] = [];
    try {
      for await (const entry of await opendir(absolutePath, { bufferSize: 256 })) {
        throwIfCancelled(this.options.signal);
        if (!VERSION_CONTROL.has(entry.name)) names.push(entry.name);
      }
    } catch (error) {
      if (error instanceof LongviewError) throw error;
      return { row: this.row(folder.path, undefined, unreadable(error)) };
    }
    const there = new Set(names);
    const files = await rulesIn(absolutePath, this.prefix + folder.path, folder.path, there);
    const { path, scope } = folder;
    if (scope !== 'all') for (const name of scope.keys()) if (!there.has(name)) this.covered(path + name);
    const wanted = scope === 'all' ? names : names.filter(name => scope.has(name));
    // By code unit, the same on every machine.
    wanted.sort();
    return { path, rules: folder.rules.with(files), scope, names: wanted, next: 0, ready: [] };
  }

  /** A folder of which all is said is told once, not its entries. */
  private covered(path: string): void {
    this.options.onCovered?.(path.replace(/\/$/, ''));
  }

  private async look(folder: Folder, name: string): Promise<Found> {
    const found = await this.lookAt(folder, name);
    const isOnTheWay = found !== undefined && 'enter' in found && found.enter.scope !== 'all';
    if (folder.scope !== 'all' && !isOnTheWay) this.covered(folder.path + name);
    return found;
  }

  private async lookAt(folder: Folder, name: string): Promise<Found> {
    const path = folder.path + name;
    const absolutePath = join(this.root, path);
    try {
      const stats = await lstat(absolutePath);
      if (stats.isSymbolicLink()) return await this.lookAtLink(path, stats);
      if (stats.isDirectory()) return this.lookAtFolder(folder, name, stats);
      if (!stats.isFile()) return { row: this.row(path, stats, skip('unreadable', 'not a file')) };
      return { row: this.row(path, stats, await this.judge(folder, path, stats)) };
    } catch (error) {
      return { row: this.row(path, undefined, unreadable(error)) };
    }
  }

  private async judge(folder: Folder, path: string, stats: Stats): Promise<Verdict> {
    const verdict = folder.rules.decide(this.prefix + path);
    if (verdict.ignored) return skip('ignored', verdict.detail);
    const named = this.options.named?.includes(path) ?? false;
    const known = named ? undefined : this.options.known?.(path, stats.size, stats.mtimeMs);
    // An earlier word on rules and links says nothing about today's.
    const holds = known?.read === true || (known !== undefined && !OF_ITS_PLACE.has(known.reason));
    if (holds) return known;
    return inspectFile(join(this.root, path), stats.size, { ...this.inspectOptions, named });
  }

  private lookAtFolder(folder: Folder, name: string, stats: Stats): Found {
    const path = `${folder.path}${name}/`;
    const verdict = folder.rules.decide(this.prefix + path);
    if (verdict.ignored && verdict.enter !== true) {
      return { row: this.row(path, stats, skip('ignored', verdict.detail)) };
    }
    const isWanted = this.options.named?.some(wanted => wanted.startsWith(path) || `${wanted}/` === path) ?? false;
    if (isSecretFolder(name) && !isWanted) return { row: this.row(path, stats, skip('secret', 'by its name')) };
    const scope = scopeIn(folder.scope, name) ?? 'all';
    return { enter: { path, rules: folder.rules.entering(this.prefix + path, verdict), scope } };
  }

  private async lookAtLink(path: string, stats: Stats): Promise<Found> {
    const target = await realpath(join(this.root, path)).catch(() => undefined);
    if (target === undefined) return { row: this.row(path, stats, skip('unreadable', 'broken link')) };
    const isHere = isInside(target, this.root);
    return { row: this.row(path, stats, isHere ? skip('link', target) : skip('outside workspace', target)) };
  }

  private row(path: string, stats: Stats | undefined, verdict: Verdict): WalkedFile {
    const size = path.endsWith('/') ? 0 : (stats?.size ?? 0);
    return { path, absolutePath: join(this.root, path), size, mtimeMs: stats?.mtimeMs ?? 0, verdict };
  }
}

function unreadable(error: unknown): Verdict {
  return skip('unreadable', (error as { code?: string }).code ?? 'unknown');
}
