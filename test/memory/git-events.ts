/**
 * What happens to the files of a Git repository in a working day, step by step, with what each step may cost: how many files
 * are read. One scenario for the test (small) and for `npm run bench -- events` (large). Asserts nothing itself.
 */
import { execFileSync } from 'node:child_process';
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { WorkspaceMemory } from '../../src/memory/index.js';
import { ChangedPaths } from '../../src/server/changed-paths.js';

export interface GitEvent {
  readonly name: string;
  /** Paths that changed. */
  readonly changed: number;
  /** Files read into memory; and how many there should be. */
  readonly read: number;
  readonly expectedRead: number;
  readonly tokens: number;
  /** Milliseconds of the processor until the ledger says what changed, as told by a file watcher. */
  readonly lookMs: number;
  /** Milliseconds to read what changed. */
  readonly readMs: number;
  /** Milliseconds of the next whole refresh: the walk of the folder and the workspace state. */
  readonly refreshMs: number;
  /** Files the whole refresh read: 0, if nothing was missed. */
  readonly missed: number;
  /** Files of the ledger that are read, and files there are. */
  readonly known: number;
  readonly expectedKnown: number;
}

export interface Sizes {
  /** Files of the repository. */
  readonly files: number;
  /** Files that differ between the two branches. */
  readonly differing: number;
}

interface Step {
  readonly name: string;
  readonly read: number;
  /** Files that there are more of than before. */
  readonly more?: number;
  /** Does it; returns the paths that changed. */
  readonly act: () => Promise<readonly string[]>;
}

export class GitFolder {
  private time = 1_700_000_000;

  constructor(
    readonly root: string,
    private readonly sizes: Sizes,
  ) {}

  /** Makes the repository: `main`, and `other` with differing files. Returns the number of files of `main`. */
  async make(): Promise<number> {
    await mkdir(this.root, { recursive: true });
    this.git('init', '-q', '-b', 'main');
    for (let at = 0; at < this.sizes.files; at++) await this.write(pathOf(at), textOf(at, 'main'));
    this.commit('start');
    this.git('switch', '-q', '-c', 'other');
    for (let at = 0; at < this.sizes.differing; at++) await this.write(pathOf(at), textOf(at, 'other'));
    this.commit('other');
    this.git('switch', '-q', 'main');
    return this.sizes.files;
  }

  async *events(memory: WorkspaceMemory): AsyncGenerator<GitEvent> {
    let known = this.sizes.files;
    const first = await measured(() => memory.refresh());
    yield {
      name: 'first reading',
      changed: this.sizes.files,
      read: first.result.filesRead,
      expectedRead: this.sizes.files,
      tokens: first.result.tokensRead,
      lookMs: 0,
      readMs: first.ms,
      refreshMs: 0,
      missed: 0,
      known: memory.coverage().read,
      expectedKnown: known,
    };
    for (const step of this.steps()) {
      const paths = await step.act();
      known += step.more ?? 0;
      const changed = new ChangedPaths();
      for (const path of paths) changed.add(path);
      const look = await measured(() => memory.lookAt(changed.take()));
      const read = await measured(() => memory.refresh({ walk: false, state: false }));
      const refresh = await measured(() => memory.refresh());
      yield {
        name: step.name,
        changed: paths.length,
        read: read.result.filesRead,
        expectedRead: step.read,
        tokens: read.result.tokensRead,
        lookMs: look.ms,
        readMs: read.ms,
        refreshMs: refresh.ms,
        missed: refresh.result.filesRead,
        known: memory.coverage().read,
        expectedKnown: known,
      };
    }
  }

  private steps(): Step[] {
    const { files, differing } = this.sizes;
    const last = pathOf(files - 1);
    const edited = [files - 2, files - 3, files - 4].map(pathOf);
    const switchTo = (branch: string) => (): Promise<string[]> => {
      const paths = this.differences('HEAD', branch);
      this.git('switch', '-q', branch);
      return Promise.resolve(paths);
    };
    const write = async (paths: readonly string[], text: string): Promise<readonly string[]> => {
      for (const path of paths) await this.write(path, text + path);
      return paths;
    };
    return [
      { name: 'edit 1', read: 1, act: () => write([last], 'edited = 1\n') },
      { name: 'create 1', read: 1, more: 1, act: () => write(['new/file.py'], 'created = 1\n') },
      {
        name: 'rename 1',
        read: 1,
        act: async () => {
          await rename(join(this.root, 'new/file.py'), join(this.root, 'new/renamed.py'));
          return ['new/file.py', 'new/renamed.py'];
        },
      },
      {
        name: 'rename back',
        read: 0,
        act: async () => {
          await rename(join(this.root, 'new/renamed.py'), join(this.root, 'new/file.py'));
          return ['new/renamed.py', 'new/file.py'];
        },
      },
      {
        name: 'delete 1',
        read: 0,
        more: -1,
        act: async () => {
          await rm(join(this.root, 'new'), { recursive: true });
          return ['new'];
        },
      },
      { name: 'touch all', read: 0, act: () => this.touchAll() },
      {
        name: 'undo (checkout)',
        read: 0,
        act: () => {
          this.git('checkout', '-q', '--', last);
          return Promise.resolve([last]);
        },
      },
      { name: `switch branch, ${differing} differ`, read: differing, act: switchTo('other') },
      { name: 'switch back', read: 0, act: switchTo('main') },
      { name: 'switch again', read: 0, act: switchTo('other') },
      { name: 'and back', read: 0, act: switchTo('main') },
      { name: 'edit 3', read: 3, act: () => write(edited, 'edited = 3\n') },
      {
        name: 'stash',
        read: 0,
        act: () => {
          this.git('stash', '-q');
          return Promise.resolve(edited);
        },
      },
      {
        name: 'stash pop',
        read: 0,
        act: () => {
          this.git('stash', 'pop', '-q');
          return Promise.resolve(edited);
        },
      },
      {
        name: 'commit, then revert',
        read: 0,
        act: () => {
          this.commit('edited');
          this.git('revert', '--no-edit', 'HEAD');
          return Promise.resolve(edited);
        },
      },
    ];
  }

  private async touchAll(): Promise<string[]> {
    this.time += 10;
    const paths = Array.from({ length: this.sizes.files }, (_, at) => pathOf(at));
    for (const path of paths) await utimes(join(this.root, path), this.time, this.time);
    return paths;
  }

  /** Each write has a later time than all before, so that none looks as if nothing had been written. */
  private async write(path: string, text: string): Promise<void> {
    const at = join(this.root, path);
    await mkdir(dirname(at), { recursive: true });
    await writeFile(at, text);
    this.time += 10;
    await utimes(at, this.time, this.time);
  }

  private differences(from: string, to: string): string[] {
    return this.git('diff', '--name-only', from, to).split('\n').filter(Boolean);
  }

  private commit(message: string): void {
    this.git('add', '-A');
    this.git('commit', '-q', '-m', message);
  }

  private git(...given: string[]): string {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '', GIT_CONFIG_NOSYSTEM: '1' };
    const me = ['-c', 'user.name=A', '-c', 'user.email=a@example.org', '-c', 'core.autocrlf=false'];
    return execFileSync('git', ['-C', this.root, ...me, ...given], {
      encoding: 'utf8',
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
  }
}

function pathOf(at: number): string {
  return `src/part-${at % 20}/file-${at}.py`;
}

/** Some lines of code that differ from file to file and from branch to branch. */
function textOf(at: number, branch: string): string {
  const lines = Array.from(
    { length: 12 },
    (_, line) => `def ${branch}_${at}_${line}(value):\n    return value + ${at * line}\n`,
  );
  return `"""Part ${at} of ${branch}."""\n\n${lines.join('\n')}`;
}

/** `ms`: of the processor, which other work on the machine hardly changes. */
async function measured<T>(work: () => Promise<T>): Promise<{ result: T; ms: number }> {
  const began = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(began);
  return { result, ms: (user + system) / 1000 };
}
