// `npm run bench -- manners [SECONDS]`: what reading costs who works beside it, with the real model. First the frames of a
// busy neighbour (manners-neighbour.mjs) while nothing is read, while a process of the normal priority reads, and while one
// below it does, in turns.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { root } from '../scripts/set-up.mjs';

const ROUNDS = 4;
const text = Array.from(
  { length: 20_000 },
  (_, i) => `export function part${i}(x: number) {\n  return x + ${i};\n}\n`,
).join('');

export async function manners(modelFolder, seconds) {
  const { startEngine } = await import(join(root, 'out/src/engine/index.js'));
  const engines = new Map([['nothing is read', undefined]]);
  for (const [name, belowNormal] of [
    ['reads at normal priority', false],
    ['reads below normal', true],
  ]) {
    engines.set(name, await startEngine({ modelFolder, belowNormal }));
  }
  const frames = new Map([...engines.keys()].map(name => [name, { late: [], took: [], tokens: 0 }]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, engine] of engines) {
      const sum = frames.get(name);
      const stop = new AbortController();
      const reading = engine && reads(engine, stop.signal);
      if (engine) await delay(1000);
      const { late, took } = await neighbour(seconds);
      stop.abort();
      sum.tokens += (await reading) ?? 0;
      sum.late.push(...late);
      sum.took.push(...took);
    }
  }
  for (const [name, { late, took, tokens }] of frames) {
    process.stdout.write(
      `${name}: frames ${late.length}, late ${percentiles(late)}, work took ${percentiles(took)}` +
        `${tokens > 0 ? `; ${Math.round(tokens / ROUNDS / (seconds + 1))} tokens/s` : ''}\n`,
    );
  }
  for (const engine of engines.values()) await engine?.dispose();
}

/** Reads until it is told to stop; tokens read. */
async function reads(engine, signal) {
  let tokens = 0;
  await engine
    .read({ label: 'long.ts', text, tokensPerRecallSlot: 4 }, { signal, onProgress: done => (tokens = done) })
    .catch(() => undefined);
  return tokens;
}

async function neighbour(seconds) {
  const child = fork(join(root, 'bench', 'manners-neighbour.mjs'));
  await delay(seconds * 1000);
  const said = once(child, 'message');
  child.send('stop');
  const [frames] = await said;
  return frames;
}

function percentiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms`;
}
