// `npm run -s longview -- COMMAND …`: the command line from a clone, after what it needs is installed and compiled.
import { pathToFileURL } from 'node:url';
import { ensureCommandLine, main } from './set-up.mjs';

await main(async () => {
  const commandLine = await ensureCommandLine();
  // npm runs scripts in the clone; paths are meant from where the user stands.
  if (process.env.npm_lifecycle_event && process.env.INIT_CWD) process.chdir(process.env.INIT_CWD);
  // In this process: signals, terminal and exit code are then the command's own.
  process.argv[1] = commandLine;
  await import(pathToFileURL(commandLine));
});
