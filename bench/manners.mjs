// `npm run bench -- manners [SECONDS]`: what reading costs who works beside it, with the real model. First the frames of a
// busy neighbour (manners-neighbour.mjs) while nothing is read, while a process of the normal priority reads, and while one
// below it does, in turns. Then the processor time of a server and its engine while they read at shares of it (Linux).
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import rpc from 'vscode-jsonrpc/node';
import { root } from '../scripts/set-up.mjs';
import { startServer } from './real-server.mjs';

const ROUNDS = 4;
const ticksPerSecond = process.platform === 'linux' ? Number(execFileSync('getconf', ['CLK_TCK'])) : 100;
const SHARES = [25, 50, 100];
/** How long the average may take that has to stay below a share. */
const WINDOW_MS = 5000;
const text = Array.from(
  { length: 20_000 },
  (_, i) => `export function part${i}(x: number) {\n  return x + ${i};\n}\n`,
).join('');

export async function manners(modelFolder, seconds) {
  await frames(modelFolder, seconds);
  if (process.platform === 'linux') for (const share of SHARES) await timeTaken(share, 2 * seconds);
}

async function frames(modelFolder, seconds) {
  const { startEngine } = await import(join(root, 'out/src/engine/index.js'));
  const engines = new Map([['nothing is read', undefined]]);
  for (const [name, belowNormal] of [
    ['reads at normal priority', false],
    ['reads below normal', true],
  ]) {
    engines.set(name, await startEngine({ modelFolder, belowNormal }));
  }
  const seen = new Map([...engines.keys()].map(name => [name, { late: [], took: [], tokens: 0 }]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, engine] of engines) {
      const sum = seen.get(name);
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
  for (const [name, { late, took, tokens }] of seen) {
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
  const [answer] = await said;
  return answer;
}

function percentiles(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = share => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))].toFixed(1);
  return `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)} ms`;
}

/** Reads with a server, at most `share` percent; what it and its engine took of all cores. */
export async function timeTaken(share, seconds) {
  const workspace = mkdtempSync(join(tmpdir(), 'longview-manners-'));
  for (let i = 0; i < 2000; i++) writeFileSync(join(workspace, `part-${i}.ts`), text.slice(1000 * i, 1000 * (i + 1)));
  const server = await startServer();
  try {
    const { connection } = server;
    const folder = pathToFileURL(workspace).toString();
    const stop = new rpc.CancellationTokenSource();
    const begun = new Promise(resolve => {
      connection.onNotification('longview/progress', ({ unit, done }) => unit === 'tokens' && done > 0 && resolve());
    });
    const read = connection
      .sendRequest('longview/read', { id: 'read', folder, cpuShare: share }, stop.token)
      .catch(() => undefined);
    await begun;
    const list = readFileSync(`/proc/${server.process}/task/${server.process}/children`, 'utf8').split(' ');
    const [engine] = list.filter(Boolean).map(Number);
    const samples = [];
    const began = performance.now();
    while (performance.now() - began < seconds * 1000) {
      samples.push({ at: performance.now(), engine: processorTime(engine), server: processorTime(server.process) });
      await delay(100);
    }
    const last = samples.at(-1);
    const percent = (from, to, who) =>
      (100 * who.reduce((sum, name) => sum + to[name] - from[name], 0)) / (to.at - from.at) / availableParallelism();
    let most = 0;
    for (const to of samples) {
      const from = samples.findLast(({ at }) => at <= to.at - WINDOW_MS);
      if (from) most = Math.max(most, percent(from, to, ['engine', 'server']));
    }
    process.stdout.write(
      `share ${share} %: engine ${percent(samples[0], last, ['engine']).toFixed(1)} %, ` +
        `server ${percent(samples[0], last, ['server']).toFixed(1)} %, ` +
        `both in any ${WINDOW_MS / 1000} s at most ${most.toFixed(1)} %\n`,
    );
    stop.cancel();
    await read;
    await connection.sendRequest('longview/forget', { id: 'forget', folder });
    await server.shutDown();
  } finally {
    server.stop();
    rmSync(workspace, { recursive: true, force: true });
  }
}

/** In ms, of all threads. */
function processorTime(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1000) / ticksPerSecond;
}
