/**
 * Reading beside a battery: what starts by itself waits for power, what the user asked for does not. Over a server of the
 * test's own and as much of the editor's interface as `Reading` uses.
 */
import assert from 'node:assert/strict';
import { register } from 'node:module';
import type { LogOutputChannel, Memento } from 'vscode';
import { CancellationTokenSource, Emitter, type CancellationToken } from 'vscode-jsonrpc/node';
import { PowerGate } from '../../src/extension/power-gate.js';
import type { Reading } from '../../src/extension/reading.js';
import type { ServerClient } from '../../src/extension/server-client.js';
import type { ReadParams } from '../../src/protocol/index.js';

const settings = new Map<string, unknown>();
const nothing = (): { dispose(): void } => ({ dispose: () => undefined });

/** What `import * as vscode from 'vscode'` gives here. */
const editor = {
  CancellationTokenSource,
  EventEmitter: Emitter,
  workspace: {
    isTrusted: true,
    workspaceFolders: [{ name: 'work', index: 0, uri: { scheme: 'file', toString: () => 'file:///work' } }],
    getConfiguration: () => ({ get: (name: string) => settings.get(name) }),
    onDidGrantWorkspaceTrust: nothing,
    onDidChangeWorkspaceFolders: nothing,
  },
  window: {},
  l10n: { t: (text: string) => text },
};

function dataUrl(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`;
}

async function readingClass(): Promise<typeof Reading> {
  (globalThis as unknown as { editorOfTest: typeof editor }).editorOfTest = editor;
  const names = Object.keys(editor).map(name => `export const ${name} = globalThis.editorOfTest.${name};`);
  const url = JSON.stringify(dataUrl(names.join('\n')));
  register(
    dataUrl(
      `export const resolve = (name, context, next) =>
        name === 'vscode' ? { url: ${url}, shortCircuit: true } : next(name, context);`,
    ),
  );
  return (await import('../../src/extension/reading.js')).Reading;
}

suite('reading on battery', () => {
  let ReadingClass: typeof Reading;
  suiteSetup(async () => {
    ReadingClass = await readingClass();
  });

  let reading: Reading;
  let onBattery: boolean;
  /** Requests to read, in order. */
  let requests: ReadParams[];
  /** Ends the request that runs. */
  let finish: () => void;
  /** Says that files changed. */
  let change: () => void;
  let power: PowerGate;
  setup(() => {
    settings.clear();
    settings.set('reading.start', 'always');
    onBattery = true;
    requests = [];
    power = new PowerGate({
      isOnBattery: () => Promise.resolve(onBattery),
      mayUseBattery: () => settings.get('reading.onBattery') === true,
      ...{ everyMs: 1, freshMs: 0 },
    });
    const client = {
      onDidChangeFiles: (listener: (event: { folder: string; waiting: number }) => void) => {
        change = () => listener({ folder: 'file:///work', waiting: 1 });
        return nothing();
      },
      request: (method: string, params: ReadParams, token: CancellationToken) => {
        if (method !== 'longview/read') return Promise.resolve({ installed: true });
        requests.push(params);
        return new Promise((resolve, reject) => {
          finish = () => resolve({ coverage: { total: 1, read: 1, stale: 0, waiting: 0, coarse: 0, skipped: 0 } });
          token.onCancellationRequested(() => reject(new Error('Cancelled.')));
        });
      },
    } as unknown as ServerClient;
    const kept = new Map<string, unknown>();
    const memento = {
      get: (key: string) => kept.get(key),
      update: (key: string, value: unknown) => Promise.resolve(kept.set(key, value)),
    } as unknown as Memento;
    const log = { error: (message: string) => assert.fail(message) } as unknown as LogOutputChannel;
    reading = new ReadingClass(client, memento, log, power, () => settings.get('reading.cpuShare') as number);
  });
  teardown(async () => {
    await reading.pause();
    reading.dispose();
  });

  async function until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise(done => setTimeout(done, 1));
  }
  /** The user reads once: from then on changes are read by themselves. */
  async function readOnce(): Promise<void> {
    const done = reading.start();
    await until(() => requests.length === 1);
    finish();
    await done;
    assert.equal(reading.state.kind, 'ready');
  }

  test('what the user asks for is read on battery too', readOnce);

  test('changed files wait until the machine is plugged in, and are read then', async () => {
    await readOnce();
    change();
    await until(() => reading.state.kind === 'onBattery');
    assert.equal(requests.length, 1);
    onBattery = false;
    await until(() => requests.length === 2);
    assert.equal(requests[1]!.walk, false);
    finish();
    await until(() => reading.state.kind === 'ready');
  });

  test('a reading of its own ends when the plug is pulled, and goes on afterwards', async () => {
    await readOnce();
    onBattery = false;
    change();
    await until(() => reading.state.kind === 'reading');
    onBattery = true;
    await until(() => reading.state.kind === 'onBattery');
    onBattery = false;
    await until(() => requests.length === 3);
    finish();
    await until(() => reading.state.kind === 'ready');
  });

  test('Read Now goes before the wait', async () => {
    await readOnce();
    change();
    await until(() => reading.state.kind === 'onBattery');
    const done = reading.start();
    await until(() => requests.length === 2);
    finish();
    await done;
    assert.equal(reading.state.kind, 'ready');
  });

  test('the setting lets what waits begin at once; a pause ends the wait', async () => {
    await readOnce();
    change();
    await until(() => reading.state.kind === 'onBattery');
    await reading.pause();
    assert.equal(reading.state.kind, 'paused');
    onBattery = false;
    await readAgain();
    onBattery = true;
    change();
    await until(() => reading.state.kind === 'onBattery');
    settings.set('reading.onBattery', true);
    power.check();
    await until(() => requests.length === 3);
    finish();
    await until(() => reading.state.kind === 'ready');
  });

  async function readAgain(): Promise<void> {
    const done = reading.start();
    await until(() => requests.length === 2);
    finish();
    await done;
  }

  test('a reading begun anew with another share of the processor tells the server of it', async () => {
    settings.set('reading.cpuShare', 100);
    const done = reading.start();
    await until(() => requests.length === 1);
    settings.set('reading.cpuShare', 25);
    const again = reading.restart();
    await done;
    await until(() => requests.length === 2);
    finish();
    await again;
    assert.deepEqual(
      requests.map(({ cpuShare }) => cpuShare),
      [100, 25],
    );
  });
});
