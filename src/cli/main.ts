#!/usr/bin/env node
/** Entry of the `longview` command. Everything it does is in run.ts. */
import { runCommandLine } from './run.js';

// Before anything loads onnxruntime, here or in a child.
process.env['ORT_DISABLE_TELEMETRY'] = '1';
// A reader that has seen enough (`| head`) is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

process.exitCode = await runCommandLine(process.argv.slice(2));
