/** A folder of files on disk with a memory in a data folder of its own, for tests. */
import { mkdir, mkdtemp, realpath, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openWorkspaceMemory, type MemorySettings, type WorkspaceMemory } from '../../src/memory/index.js';
import { openStore, storeFolder, type Store } from '../../src/memory/store/index.js';
import type { Engine } from '../../src/engine/index.js';

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

  async memory(
    engine: Engine | (() => Promise<Engine>),
    settings: Partial<MemorySettings> = {},
  ): Promise<WorkspaceMemory> {
    const memory = await openWorkspaceMemory({ root: this.root, data: this.data, engine, settings, leaseRetry: 20 });
    this.open.push(memory);
    return memory;
  }

  /** The store itself, beside the memory. */
  async store(): Promise<Store> {
    const store = await openStore(storeFolder(this.data, this.root), { workspace: this.root });
    this.open.push(store);
    return store;
  }

  async dispose(): Promise<void> {
    for (const part of this.open.reverse()) await part.dispose();
    await rm(dirname(this.root), { recursive: true, force: true });
  }
}
