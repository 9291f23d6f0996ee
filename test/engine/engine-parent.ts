/** A program that starts an engine process and waits to be killed: prints the engine's process id. Started by engine-process-death.test.ts. */
import type { ChildProcess } from 'node:child_process';
import { startEngine } from '../../src/engine/index.js';

const engine = await startEngine({ modelFolder: process.argv[2]!, threads: 1 });
const { child } = engine as unknown as { child: ChildProcess };
process.stdout.write(`${child.pid!}\n`);
setInterval(() => undefined, 1000);
