/** What share of the processor the engine is told while a folder is read: the one given, and none where somebody waits. */
import assert from 'node:assert/strict';
import type {
  CallOptions,
  ComposedState,
  ComposeOptions,
  PackedSlots,
  ReadRequest,
  Reading,
} from '../../src/engine/index.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

class SharedEngine extends FakeEngine {
  /** Of each call, in order: what was done, and at which share. */
  readonly shares: string[] = [];

  override read(request: ReadRequest, options: CallOptions = {}): Promise<Reading> {
    this.shares.push(`read ${request.label} ${options.cpuShare}`);
    return super.read(request, options);
  }

  override compose(gists: AsyncIterable<PackedSlots>, options: ComposeOptions): Promise<ComposedState> {
    this.shares.push(`compose ${options.cpuShare}`);
    return super.compose(gists, options);
  }
}

suite('share of the processor', () => {
  let folder: Folder;
  let engine: SharedEngine;
  setup(async () => {
    folder = await Folder.of({ 'a.ts': 'const first = 1;\n', 'b.ts': 'const second = 2;\n' });
    engine = new SharedEngine();
  });
  teardown(() => folder.dispose());

  test('goes with each text and composition', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh({ cpuShare: 30 });
    assert.deepEqual(engine.shares, ['read a.ts 30', 'read b.ts 30', 'compose 30']);
  });

  test('is none by default', async () => {
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.deepEqual(engine.shares, ['read a.ts undefined', 'read b.ts undefined', 'compose undefined']);
  });

  test('ends when a refresh without one waits for its turn, and not for one that has one too', async () => {
    const memory = await folder.memory(engine);
    const later: Promise<unknown>[] = [];
    engine.beforeRead = label => {
      if (label === 'a.ts') later.push(memory.refresh({ cpuShare: 40 }), memory.lookAt(['']));
      if (label === 'b.ts') later.push(memory.refresh());
    };
    await memory.refresh({ cpuShare: 30 });
    await Promise.all(later);
    assert.deepEqual(engine.shares, ['read a.ts 30', 'read b.ts 30', 'compose undefined']);
    await folder.write('a.ts', 'const first = 3;\n');
    engine.beforeRead = () => undefined;
    await memory.refresh({ cpuShare: 30 });
    assert.equal(engine.shares[3], 'read a.ts 30');
  });
});
