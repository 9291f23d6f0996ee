/**
 * A program that has an engine process read and waits to be killed: prints the engine's process id.
 * Started by engine-process-death.test.ts.
 */
import { startEngine } from '../../src/engine/index.js';
import { begin, processOf } from './tiny-process.js';

const engine = await startEngine({ modelFolder: process.argv[2]!, threads: 1 });
const [reading, begun] = begin(engine);
await begun;
process.stdout.write(`${processOf(engine).pid!}\n`);
await reading;
