/** What the tests of the engine process share: texts, readings, and the process itself, which they kill. */
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type { Engine, Reading } from '../../src/engine/index.js';

export const code = 'export function add(a: number, b: number) {\n  return a + b;\n}\n';
/** Takes half a minute; never read to its end. */
export const endless = code.repeat(2000);

/** Not part of `Engine`: tests kill it. */
export function processOf(engine: Engine): ChildProcess {
  return (engine as unknown as { child: ChildProcess }).child;
}

export async function kill(engine: Engine): Promise<void> {
  const child = processOf(engine);
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Whether a process is there; one that ended but was not waited for by its parent is not. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

export async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100 && isRunning(pid); tries++) await delay(50);
  return !isRunning(pid);
}

export function readOf(engine: Engine, text = code): Promise<Reading> {
  return engine.read({ label: 'a.ts', text, tokensPerRecallSlot: 4 });
}

/** A reading, and when its first chunk was read. */
export function begin(engine: Engine): [reading: Promise<Reading>, begun: Promise<void>] {
  let onProgress = (): void => undefined;
  const begun = new Promise<void>(resolve => (onProgress = resolve));
  const request = { label: 'long.ts', text: endless, tokensPerRecallSlot: 4 };
  return [engine.read(request, { onProgress: () => onProgress() }), begun];
}
