// `npm run bench -- server-delay [FILES]`: how long the real server takes to answer a ping while it reads so many small files
// with the real model, and the delay of its event loop as the pings see it. One ping after another, 20 ms apart.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { delaysInWords, pingDuring, startServer } from './real-server.mjs';

export async function serverDelay(files) {
  const workspace = mkdtempSync(join(tmpdir(), 'longview-delay-'));
  for (let i = 0; i < files; i++) {
    writeFileSync(join(workspace, `part-${i}.ts`), `export function part${i}(x: number) {\n  return x + ${i};\n}\n`);
  }
  const { connection, shutDown, stop } = await startServer();
  try {
    const folder = pathToFileURL(workspace).toString();
    let task = 'starting';
    const slow = new Map();
    connection.onNotification('longview/progress', progress => (task = progress.task));
    const began = performance.now();
    const read = connection.sendRequest('longview/read', { id: 'read', folder });
    const { result, delays } = await pingDuring(connection, read, 20, took => {
      if (took > 50) slow.set(task, Math.max(slow.get(task) ?? 0, took));
    });
    const seconds = (performance.now() - began) / 1000;
    await connection.sendRequest('longview/forget', { id: 'forget', folder });
    process.stdout.write(
      `${result.filesRead} files, ${result.tokensRead} tokens in ${seconds.toFixed(0)} s; ${delaysInWords(delays)}` +
        `${[...slow].map(([name, most]) => ` (${name}: ${most.toFixed(0)} ms)`).join('')}\n`,
    );
    await shutDown();
  } finally {
    stop();
    rmSync(workspace, { recursive: true, force: true });
  }
}
