// `npm run bench -- events [FILES]`: what a change of files costs. A Git repository is made, and edited, renamed, switched,
// stashed as in test/memory/git-events.ts; ends with 1 where more was read than what is new in content. The engine is the
// tests' stand-in (test/memory/fake-engine.ts), whose reading costs next to nothing: times are the processor's for
// everything else.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/set-up.mjs';

export async function events(files) {
  const { openWorkspaceMemory } = await import(join(root, 'out/src/memory/index.js'));
  const { FakeEngine } = await import(join(root, 'out/test/memory/fake-engine.js'));
  const { GitFolder } = await import(join(root, 'out/test/memory/git-events.js'));
  const top = realpathSync(mkdtempSync(join(tmpdir(), 'longview-events-')));
  const differing = Math.min(50, Math.floor(files / 4));
  const folder = new GitFolder(join(top, 'work'), { files, differing });
  const open = () => openWorkspaceMemory({ root: folder.root, data: join(top, 'data'), engine: new FakeEngine() });
  let memory;
  try {
    await folder.make();
    memory = await open();
    print(['step', 'changed', 'read', 'tokens', 'look ms', 'read ms', 'refresh ms']);
    for await (const event of folder.events(memory)) {
      const { name, changed, read, expectedRead, tokens, lookMs, readMs, refreshMs, missed, known, expectedKnown } =
        event;
      print([name, changed, read, tokens, ...[lookMs, readMs, refreshMs].map(ms => Math.round(ms))]);
      if (read !== expectedRead || missed !== 0 || known !== expectedKnown) {
        process.stderr.write(
          `${name}: ${expectedRead} to read, ${missed} missed, ${known} of ${expectedKnown} known\n`,
        );
        process.exitCode = 1;
      }
    }
    await memory.dispose();
    await restart(open, value => (memory = value));
  } finally {
    await memory?.dispose();
    rmSync(top, { recursive: true, force: true });
  }
}

/** From a new process's point of view: until it can say how it stands, and until a question has its places. */
async function restart(open, keep) {
  let began = performance.now();
  const took = () => {
    const ms = Math.round(performance.now() - began);
    began = performance.now();
    return `${ms} ms`;
  };
  const memory = keep(await open());
  const opened = took();
  const { coverage } = memory.status();
  const status = took();
  await memory.recall('Where is the value added?', { limit: 5 });
  const recall = took();
  const { filesRead } = await memory.refresh();
  if (filesRead !== 0) process.exitCode = 1;
  process.stdout.write(
    `restart with ${coverage.read} files read: open ${opened}, status ${status}, first recall ${recall}; ` +
      `refresh ${took()}, ${filesRead} files read\n`,
  );
}

function print([name, ...cells]) {
  process.stdout.write(`${String(name).padEnd(28)}${cells.map(cell => String(cell).padStart(11)).join('')}\n`);
}
