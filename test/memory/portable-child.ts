/**
 * A process of its own for the tests of exports: `node portable-child.js export|import ROOT DATA FILE`. Says `ready` once it is
 * at work, `done` when it is done.
 */
import { writeSync } from 'node:fs';
import { openWorkspaceMemory } from '../../src/memory/index.js';
import { FakeEngine } from './fake-engine.js';

const [mode = '', root = '', data = '', file = ''] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

const memory = await openWorkspaceMemory({ root, data, engine: new FakeEngine() });
let begun = false;
const onProgress = (): void => {
  if (!begun) say('ready');
  begun = true;
};
if (mode === 'export') await memory.exportTo(file, { replace: true, onProgress });
else await memory.importFrom([file], { onProgress });
say('done');
await memory.dispose();
