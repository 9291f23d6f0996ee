/**
 * A process that may not write to a memory: `node read-only-child.js ROOT DATA`. Prints in JSON what it can do with it.
 */
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';

const [root = '', data = ''] = process.argv.slice(2);
const engine = new FakeEngine();
const memory = await openWorkspaceMemory({ root, data, engine });
const failure = (error: unknown): unknown => [(error as { code: string }).code, (error as Error).message];
const path = memory.files()[0]?.path ?? '';
const report = {
  readOnly: memory.readOnly,
  scanned: await memory.scan(),
  coverage: memory.status().coverage,
  recalled: (await memory.recall('lantern door', { limit: 1 })).map(({ path, startLine }) => [path, startLine]),
  states: (await memory.states([path])).map(id => id.split(':')[0]),
  read: await memory.refresh().catch(failure),
  forget: await memory.forget(path).catch(failure),
  forgetAll: await memory.forgetAll().catch(failure),
  mark: await memory.keepSummaryMark(Buffer.from('mark')).then(() => 'not kept'),
};
await memory.dispose();
process.stdout.write(JSON.stringify(report));
