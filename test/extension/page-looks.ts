/**
 * A suite has no access to the page it runs in: lines of its log ask run-tests.mjs to look at it or to press keys, and its
 * answer comes as a file. Where nobody answers, as in a VS Code that another runner started, nothing is looked at.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Far longer than run-tests.mjs tries. */
const patienceMs = 60_000;
let asked = 0;

/** Some frame of the page has to show each of the texts. */
export async function look(...texts: string[]): Promise<void> {
  await Promise.all(texts.map(text => ask('expect', text)));
}

/** Presses keys such as `Tab Tab`; what has the focus then has to be called so. */
export async function press(keys: string, focused?: string): Promise<void> {
  await ask('press', keys);
  if (focused !== undefined) await focus(focused);
}

/** What has the focus has to be called so. */
export async function focus(name: string): Promise<void> {
  await ask('focused', name);
}

export async function screenshot(name: string): Promise<void> {
  await ask('screenshot', name);
}

async function ask(kind: 'expect' | 'press' | 'focused' | 'screenshot', what: string): Promise<void> {
  const folder = process.env.LONGVIEW_LOOKS;
  const id = `${process.pid}-${++asked}`;
  console.log(`[${kind} ${id}] ${what}`);
  if (folder === undefined) return;
  const answer = join(folder, id);
  for (const deadline = Date.now() + patienceMs; !existsSync(answer); await new Promise(done => setTimeout(done, 50))) {
    assert.ok(Date.now() < deadline, `nobody answered [${kind}] ${what}`);
  }
  const failure = readFileSync(answer, 'utf8');
  assert.equal(failure, '', failure);
}
