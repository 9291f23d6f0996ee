// `npm run bench -- many-files [FILES]`: what the real server does with a folder of so many files that wait to be read (no model
// is needed): the first look, the ledger, a change, a restart; with pings meanwhile. Never reads a file into a memory.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { pathToFileURL } from 'node:url';
import { delaysInWords, pingDuring, startServer } from './real-server.mjs';

/** Files in each folder. */
const A_FOLDER = 500;

export async function manyFiles(files) {
  const base = mkdtempSync(join(tmpdir(), 'longview-many-'));
  const workspace = join(base, 'workspace');
  const env = { LONGVIEW_DATA: join(base, 'data') };
  const folder = pathToFileURL(workspace).toString();
  const pathOf = file => join(workspace, `folder-${Math.floor(file / A_FOLDER)}`, `part-${file}.ts`);
  for (let file = 0; file < files; file++) {
    if (file % A_FOLDER === 0) mkdirSync(join(pathOf(file), '..'), { recursive: true });
    writeFileSync(pathOf(file), `export const part${file} = ${file};\n`);
  }
  let server = await startServer(env);
  const step = async (name, request, check) => {
    const began = performance.now();
    const { result, delays } = await pingDuring(server.connection, request(), 10);
    const seconds = ((performance.now() - began) / 1000).toFixed(2);
    const wrong = check(result);
    if (wrong !== undefined) throw new Error(`${name}: ${wrong}`);
    console.log(`${name}: ${seconds} s, ${memoryOf(server.process)}; ${delaysInWords(delays)}`);
  };
  const request = (method, more = {}) =>
    server.connection.sendRequest(`longview/${method}`, { id: method, folder, ...more });
  const all = ({ coverage }) =>
    coverage.waiting === files ? undefined : `${coverage.waiting} of ${files} files wait to be read`;
  try {
    await step('first look', () => request('status'), all);
    await step('second look', () => request('status'), all);
    await step(
      'rows of all files',
      () => request('files'),
      ({ status }) => all(status),
    );
    writeFileSync(pathOf(0), 'export const part0 = "changed";\n');
    const changed = new Promise(done => server.connection.onNotification('longview/changed', done));
    const uri = pathToFileURL(pathOf(0)).toString();
    await server.connection.sendNotification('workspace/didChangeWatchedFiles', { changes: [{ uri, type: 2 }] });
    await step(
      'one file changed, until it is noticed',
      () => changed,
      () => undefined,
    );
    await server.shutDown();
    const began = performance.now();
    server = await startServer(env);
    console.log(`restart, until it answers: ${((performance.now() - began) / 1000).toFixed(2)} s`);
    await step('first look after the restart', () => request('status'), all);
    await server.shutDown();
  } finally {
    server.stop();
    rmSync(base, { recursive: true, force: true });
  }
}

/** Linux says it. */
function memoryOf(process) {
  try {
    const [, kilobytes] = /^VmHWM:\s*(\d+)/m.exec(readFileSync(`/proc/${process}/status`, 'utf8'));
    return `at most ${Math.round(kilobytes / 1024)} MB`;
  } catch {
    return 'memory not known';
  }
}
