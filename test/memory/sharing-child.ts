/**
 * One of several processes on one memory: `node sharing-child.js ROOT DATA HOLD` reads the folder, and asks beside it as long as it
 * reads; while the file HOLD is there it stays at its fourth file. Prints in JSON what happens: `reading PATH`, `waiting`, `answered N files known`, `done`.
 */
import { existsSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';

const [root = '', data = '', hold = ''] = process.argv.slice(2);
const say = (...event: unknown[]): void => void writeSync(1, `${JSON.stringify(event)}\n`);

const engine = new FakeEngine();
engine.beforeRead = async label => {
  say('reading', label);
  while (engine.reads.length === 3 && existsSync(hold)) await sleep(5);
};
const memory = await openWorkspaceMemory({ root, data, engine, leaseRetry: 20 });
say('open');
const done = new AbortController();
const reading = memory
  .refresh({
    onProgress: ({ task }) => {
      if (task.startsWith('Another')) say('waiting');
    },
  })
  .finally(() => done.abort());
do {
  const spans = await memory.recall('lantern', { limit: 3 });
  const texts = spans.every(span => span.text.includes('lantern'));
  say('answered', memory.coverage().read, texts);
  await sleep(20);
} while (!done.signal.aborted);
await reading;
say('done', memory.coverage().read);
await memory.dispose();
