// `npm run -s longview -- COMMAND …`: the command line from a clone, after what it needs is installed and compiled.
// `bench` is the clone's own: its measurements and their data are in no package.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureCommandLine, main, root } from './set-up.mjs';

await main(async () => {
  if (process.argv[2] === 'bench') {
    process.argv.splice(2, 1);
    await import(pathToFileURL(join(root, 'bench', 'bench.mjs')));
    return;
  }
  const commandLine = await ensureCommandLine();
  // npm runs scripts in the clone; paths are meant from where the user stands.
  if (process.env.npm_lifecycle_event && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD);
  // In this process: signals, terminal and exit code are then the command's own.
  process.argv[1] = commandLine;
  await import(pathToFileURL(commandLine));
});
