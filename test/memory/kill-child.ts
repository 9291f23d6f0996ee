/**
 * A process to be killed: `node kill-child.js ROOT DATA EXPORT` reads a folder, composes, forgets a part of it, reads that
 * again, exports and closes, with the engine of the tests. Prints a line before each step of it, without buffering.
 */
import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions, ComposedState } from '../../src/engine/index.js';
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';
import { FORGOTTEN } from './kills.js';

const [root = '', data = '', file = ''] = process.argv.slice(2);
const say = (phase: string, item = ''): void => void writeSync(1, `${phase}\t${item}\n`);

/** Takes its time, and says when it begins. */
class SlowEngine extends FakeEngine {
  override async compose(
    gists: Parameters<FakeEngine['compose']>[0],
    options: Parameters<FakeEngine['compose']>[1],
  ): Promise<ComposedState> {
    say('composing');
    const composed = await super.compose(gists, options);
    await sleep(3);
    say('keeping the state');
    return composed;
  }

  override async patch(
    state: Parameters<FakeEngine['patch']>[0],
    change: Parameters<FakeEngine['patch']>[1],
    options: CallOptions = {},
  ): Promise<ComposedState> {
    say('composing');
    const patched = await super.patch(state, change, options);
    await sleep(3);
    say('keeping the state');
    return patched;
  }
}

const engine = new SlowEngine();
engine.beforeRead = async label => {
  say('reading', label);
  await sleep(1);
};
say('opening');
const memory = await openWorkspaceMemory({ root, data, engine, settings: { keepBytes: 0 }, leaseRetry: 20 });
say('looking');
await memory.refresh({ forgotten: true });
say('forgetting');
await memory.forget(FORGOTTEN);
say('looking');
await memory.refresh({ forgotten: true });
say('exporting');
await memory.exportTo(file);
say('closing');
await memory.dispose();
say('closed');
