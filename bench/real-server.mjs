// The real server as the editor starts it, for measurements from outside. Never looks into its memory or its store.
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import rpc from 'vscode-jsonrpc/node';
import { root } from '../scripts/set-up.mjs';

/** `env`: variables beside those of this process. */
export async function startServer(env = {}) {
  const child = spawn(process.execPath, [join(root, 'out', 'src', 'server', 'main.js'), '--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(child.stdout),
    new rpc.StreamMessageWriter(child.stdin),
  );
  connection.listen();
  const stop = () => {
    connection.dispose();
    child.kill();
  };
  try {
    await connection.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
  } catch (error) {
    stop();
    throw error;
  }
  return {
    connection,
    process: child.pid,
    stop,
    async shutDown() {
      await connection.sendRequest('shutdown');
      await connection.sendNotification('exit');
      await new Promise(done => (child.exitCode === null ? child.once('exit', done) : done()));
      connection.dispose();
    },
  };
}

/** Pings the server, one after another, `pause` ms apart, until `work` ends: its result and how long each ping took, in ms. */
export async function pingDuring(connection, work, pause = 20, onPing = () => {}) {
  let working = true;
  const result = work.finally(() => (working = false));
  // The caller is told by awaiting `result`.
  result.catch(() => {});
  const delays = [];
  while (working) {
    const asked = performance.now();
    await connection.sendRequest('longview/ping');
    const took = performance.now() - asked;
    delays.push(took);
    onPing(took);
    await new Promise(done => setTimeout(done, pause));
  }
  return { result: await result, delays: delays.sort((a, b) => a - b) };
}

/** p50, p99, the longest and how many took over 50 ms, in words; `delays` ascending. */
export function delaysInWords(delays) {
  const at = share => `${delays[Math.min(delays.length - 1, Math.floor(share * delays.length))].toFixed(1)} ms`;
  const slow = delays.filter(delay => delay > 50).length;
  return `${delays.length} pings: p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}; over 50 ms: ${slow}`;
}
