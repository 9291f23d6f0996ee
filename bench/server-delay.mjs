// `npm run bench -- server-delay [FILES]`: how long the real server takes to answer a ping while it reads so many small files
// with the real model, and the delay of its event loop as the pings see it. One ping after another, 20 ms apart.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import rpc from 'vscode-jsonrpc/node';
import { root } from '../scripts/set-up.mjs';

export async function serverDelay(files) {
  const workspace = mkdtempSync(join(tmpdir(), 'longview-delay-'));
  for (let i = 0; i < files; i++) {
    writeFileSync(join(workspace, `part-${i}.ts`), `export function part${i}(x: number) {\n  return x + ${i};\n}\n`);
  }
  const server = spawn(process.execPath, [join(root, 'out', 'src', 'server', 'main.js'), '--stdio'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(server.stdout),
    new rpc.StreamMessageWriter(server.stdin),
  );
  try {
    connection.listen();
    await connection.sendRequest('initialize', { processId: process.pid, rootUri: null, capabilities: {} });
    const folder = pathToFileURL(workspace).toString();
    let reading = true;
    let task = 'starting';
    const slow = new Map();
    connection.onNotification('longview/progress', progress => (task = progress.task));
    const began = performance.now();
    const read = connection.sendRequest('longview/read', { id: 'read', folder }).finally(() => (reading = false));
    const delays = [];
    while (reading) {
      const asked = performance.now();
      await connection.sendRequest('longview/ping');
      const took = performance.now() - asked;
      delays.push(took);
      if (took > 50) slow.set(task, Math.max(slow.get(task) ?? 0, took));
      await new Promise(done => setTimeout(done, 20));
    }
    const { filesRead, tokensRead } = await read;
    const seconds = (performance.now() - began) / 1000;
    await connection.sendRequest('longview/forget', { id: 'forget', folder });
    delays.sort((a, b) => a - b);
    const at = share => `${delays[Math.min(delays.length - 1, Math.floor(share * delays.length))].toFixed(1)} ms`;
    process.stdout.write(
      `${filesRead} files, ${tokensRead} tokens in ${seconds.toFixed(0)} s; ${delays.length} pings: ` +
        `p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}; over 50 ms: ${delays.filter(delay => delay > 50).length}` +
        `${[...slow].map(([name, most]) => ` (${name}: ${most.toFixed(0)} ms)`).join('')}\n`,
    );
    await connection.sendRequest('shutdown');
    await connection.sendNotification('exit');
  } finally {
    connection.dispose();
    server.kill();
    rmSync(workspace, { recursive: true, force: true });
  }
}
