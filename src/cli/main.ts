#!/usr/bin/env node
/** Entry of the `longview` command. Everything it does is in run.ts. */
import { runCommandLine } from './run.js';

// Before anything loads onnxruntime, here or in a child.
process.env['ORT_DISABLE_TELEMETRY'] = '1';
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // A reader that has seen enough (`| head`) is not a failure.
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`longview: The output could not be written (${error.message}).\n`);
  process.exit(1);
});
// What nobody listens to ends no work.
process.stderr.on('error', () => undefined);

process.exitCode = await runCommandLine(process.argv.slice(2));
