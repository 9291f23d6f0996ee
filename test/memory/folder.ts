/** A folder of files on disk with a memory in a data folder of its own, for tests. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, readdir, realpath, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { failed, ok, silentLog } from '../../src/base/index.js';
import { LazyEngine } from '../../src/memory/lazy-engine.js';
import { DEFAULT_SETTINGS } from '../../src/memory/settings.js';
import { openStore, storeFolder, type Store } from '../../src/memory/store/index.js';
import { Workspace } from '../../src/memory/workspace.js';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import type { FakeEngine } from './fake-engine.js';

export class Folder {
  private time = 1_700_000_000;
  private readonly open: { dispose(): void | Promise<void> }[] = [];

  private constructor(
    readonly root: string,
    readonly data: string,
  ) {}

  static async of(files: Record<string, string>): Promise<Folder> {
    const top = await realpath(await mkdtemp(join(tmpdir(), 'longview-')));
    const folder = new Folder(join(top, 'work'), join(top, 'data'));
    await mkdir(folder.root);
    for (const [path, text] of Object.entries(files)) await folder.write(path, text);
    return folder;
  }

  /** Writes a file; each write has a later time than all before. */
  async write(path: string, text: string | Uint8Array): Promise<void> {
    await mkdir(dirname(join(this.root, path)), { recursive: true });
    await writeFile(join(this.root, path), text);
    await this.touch(path);
  }

  async touch(path: string): Promise<void> {
    this.time += 10;
    await utimes(join(this.root, path), this.time, this.time);
  }

  remove(path: string): Promise<void> {
    return rm(join(this.root, path), { recursive: true });
  }

  async memory(engine: FakeEngine | (() => Promise<FakeEngine>), data = this.data): Promise<WorkspaceMemory> {
    const store = await openStore(storeFolder(data, this.root), { workspace: this.root });
    const memory = new Workspace({
      root: this.root,
      store,
      files: {
        walk: () => walk(this.root, ''),
        read: async path => {
          try {
            const bytes = await readFile(join(this.root, path));
            const { size, mtimeMs } = await stat(join(this.root, path));
            const contentHash = createHash('sha256').update(bytes).digest('hex');
            return ok({ text: bytes.toString('utf8'), contentHash, size, mtimeMs });
          } catch {
            return failed('unreadable');
          }
        },
      },
      engine: new LazyEngine(engine),
      model: undefined,
      settings: DEFAULT_SETTINGS,
      log: silentLog,
      leaseRetry: 20,
    });
    this.open.push(memory);
    return memory;
  }

  /** The store itself, beside the memory. */
  async store(data = this.data): Promise<Store> {
    const store = await openStore(storeFolder(data, this.root), { workspace: this.root });
    this.open.push(store);
    return store;
  }

  async dispose(): Promise<void> {
    for (const part of this.open.reverse()) await part.dispose();
    await rm(dirname(this.root), { recursive: true, force: true });
  }
}

async function* walk(root: string, below: string): AsyncGenerator<{ path: string; size: number; mtimeMs: number }> {
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) yield* walk(root, path);
    else {
      const { size, mtimeMs } = await stat(join(root, path));
      yield { path, size, mtimeMs };
    }
  }
}
