/** The real command line as a process that does not block this one, so that servers here can answer it. */
import { spawn, type ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';

export interface Outcome {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Outcome>;
}

const main = resolve('out/src/cli/main.js');

/** `env` is all that it sees beside PATH and HOME. stdin is no terminal. */
export function startCli(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Running {
  const { PATH, HOME } = process.env;
  const child = spawn(process.execPath, [main, ...args], {
    cwd,
    env: { PATH, HOME, ORT_DISABLE_TELEMETRY: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [out, err] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  return { child, ended: new Promise(done => child.once('close', code => done({ code, out, err }))) };
}
