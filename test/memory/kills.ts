/**
 * `kill -9` at random moments of reading, composing, forgetting, exporting and compacting, in a process of its own: after
 * each the store opens undamaged, every file that was read but the last is there, and in the end the store holds the same as
 * that of a run that nobody disturbed. For the tests and for `npm run bench -- kills`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { dropState } from '../../src/memory/kept-state.js';
import { encodeFileMemory, keysOf, openStore, storeFolder, type Store } from '../../src/memory/store/index.js';
import { FakeEngine } from './fake-engine.js';
import { randomNumbers } from './store-samples.js';

/** What the process forgets and reads again. */
export const FORGOTTEN = 'part 1/';

export interface KillOptions {
  readonly count: number;
  readonly seed: number;
  readonly files: number;
  readonly onKill?: (done: number) => void;
}

export interface KillReport {
  /** Kills by what went on; runs that had ended before they were killed do not count. */
  readonly phases: ReadonlyMap<string, number>;
  /** Files whose reading was lost, of all kills. */
  readonly lost: number;
}

interface Places {
  readonly root: string;
  readonly data: string;
  readonly file: string;
}

const CHILD = fileURLToPath(new URL('./kill-child.js', import.meta.url));
const WORDS = 'lantern well river stone copper meadow engine ledger anchor violet'.split(' ');

/** Throws an `AssertionError` where something does not hold. */
export async function runKills({ count, seed, files, onKill }: KillOptions): Promise<KillReport> {
  const random = randomNumbers(seed);
  const top = await realpath(await mkdtemp(join(tmpdir(), 'longview-kills-')));
  const places = (name: string): Places => ({
    root: join(top, 'work'),
    data: join(top, name),
    file: join(top, `${name}.longview`),
  });
  try {
    const disturbed = places('disturbed');
    for (let at = 0; at < files; at++) await writeSample(disturbed.root, at, random);
    const phases = new Map<string, number>();
    let lost = 0;
    // Lines of a run that nobody disturbs: two for each file, about.
    let lines = files * 2;
    for (let done = 0; done < count;) {
      // Something to read, whatever earlier runs got done.
      for (let n = 0; n < files / 6; n++) await writeSample(disturbed.root, Math.floor(random() * files), random);
      const printed = await run(disturbed, Math.floor(random() * lines), random() * 6);
      const [phase = 'starting'] = printed.at(-1)?.split('\t') ?? [];
      lines = phase === 'closed' ? printed.length : Math.max(lines, printed.length);
      if (phase === 'closed') await rm(disturbed.file);
      else {
        phases.set(phase, (phases.get(phase) ?? 0) + 1);
        lost += await checkAfter(disturbed, printed);
        done++;
        onKill?.(done);
      }
    }
    await rm(disturbed.file, { force: true });
    const calm = places('calm');
    assert.equal((await run(calm, undefined, 0)).at(-1), 'closed', 'the undisturbed run ends');
    const last = await run(disturbed, undefined, 0);
    assert.equal(last.at(-1), 'closed', 'the run after the last kill ends');
    assert.deepEqual(await contentOf(disturbed), await contentOf(calm), 'equal to the undisturbed run');
    return { phases, lost };
  } finally {
    await rm(top, { recursive: true, force: true });
  }
}

async function writeSample(root: string, at: number, random: () => number): Promise<void> {
  const path = join(root, `part ${at % 4}`, `file ${at}.md`);
  await mkdir(dirname(path), { recursive: true });
  const words = Array.from({ length: 5 + Math.floor(random() * 300) }, (_, word) =>
    word % 9 === 8 ? '\n' : WORDS[Math.floor(random() * WORDS.length)],
  );
  await writeFile(path, `# File ${at}\n\n${words.join(' ')}\n`);
}

/** Runs the process and kills it `delay` ms after its line number `line`, or lets it end. Returns what it printed. */
async function run({ root, data, file }: Places, line: number | undefined, delay: number): Promise<string[]> {
  const child = spawn(process.execPath, [CHILD, root, data, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const closed = once(child, 'close');
  const kill = (): void => void sleep(delay).then(() => child.kill('SIGKILL'));
  // Before the first line: while the process starts.
  if (line === 0) kill();
  createInterface({ input: child.stdout }).on('line', text => {
    lines.push(text.trimEnd());
    if (lines.length === line) kill();
  });
  await closed;
  return lines;
}

/** The files whose reading was lost. */
async function checkAfter({ root, data, file }: Places, printed: readonly string[]): Promise<number> {
  const folder = storeFolder(data, root);
  if (!existsSync(join(folder, 'data.mdb'))) {
    assert.ok(!printed.some(line => line.startsWith('reading')), 'a store that was read into is there');
    return 0;
  }
  const logged: string[] = [];
  const store = await openStore(folder, { workspace: root, log: (_, line) => logged.push(line) });
  try {
    for (const row of store.ledger.all()) {
      for (const key of row.state === 'read' ? keysOf(row) : []) {
        assert.equal(store.getMemory(key)?.ok, true, `${row.path} can be used`);
      }
    }
    for (const { key } of store.listKeys()) assert.equal(store.getMemory(key)?.ok, true, `${key} can be used`);
    // A file was written before the next one began; what is forgotten is so on purpose.
    const began = printed.filter(line => line.startsWith('reading')).map(line => line.slice('reading\t'.length));
    const ended = printed.at(-1)?.startsWith('reading') === true ? began.slice(0, -1) : began;
    const isForgetting = printed.includes('forgetting');
    const missing = ended.filter(path => store.ledger.get(path)?.state !== 'read');
    assert.deepEqual(
      missing.filter(path => !(isForgetting && path.startsWith(FORGOTTEN))),
      [],
      'what was read',
    );
    assert.deepEqual(logged, [], 'nothing was damaged');
    return began.length - ended.length;
  } finally {
    await store.dispose();
    if (existsSync(file)) await assertImports(file, root, dirname(data));
  }
}

/** An export is whole, or it is not there. */
async function assertImports(file: string, root: string, top: string): Promise<void> {
  const data = join(top, 'imported');
  const memory = await openWorkspaceMemory({ root, data, engine: new FakeEngine(), settings: { keepBytes: 0 } });
  try {
    const { coverage } = await memory.importFrom([file]);
    assert.equal(coverage.read, coverage.total, 'the export holds all files');
  } finally {
    await memory.dispose();
    await rm(data, { recursive: true });
    await rm(file);
  }
}

/** Everything in a store but times, the state composed anew. */
async function contentOf({ root, data }: Places): Promise<unknown> {
  const folder = storeFolder(data, root);
  const before = await openStore(folder, { workspace: root });
  await dropState(before);
  await before.dispose();
  const memory = await openWorkspaceMemory({ root, data, engine: new FakeEngine(), settings: { keepBytes: 0 } });
  const { filesRead } = await memory.refresh();
  await memory.dispose();
  const store = await openStore(folder, { workspace: root });
  try {
    return { filesRead, rows: rowsOf(store), memories: memoriesOf(store), blobs: blobsOf(store) };
  } finally {
    await store.dispose();
  }
}

function rowsOf(store: Store): unknown[] {
  return store.ledger.all().map(row => ({ ...row, readAt: undefined }));
}

function memoriesOf(store: Store): [string, string][] {
  return store
    .listKeys()
    .map(({ key }): [string, string] => {
      const memory = store.getMemory(key);
      if (!memory?.ok) throw new Error(`${key} cannot be used`);
      return [key, Buffer.from(encodeFileMemory(memory.value)).toString('base64')];
    })
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

function blobsOf(store: Store): [string, string][] {
  return store.blobNames('').map(name => {
    const blob = store.getBlob(name);
    if (!blob?.ok) throw new Error(`${name} cannot be used`);
    return [name, Buffer.from(blob.value).toString('base64')];
  });
}
