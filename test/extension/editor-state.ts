/** What suites in a real editor look at: the report of *Diagnostics*, counts of files, processes. Changes nothing. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import * as vscode from 'vscode';

export interface Counts {
  readonly total: number;
  readonly read: number;
  readonly waiting: number;
}

/** What *Diagnostics* says; closes its document. */
export async function diagnostics(): Promise<string> {
  const report = await vscode.commands.executeCommand<string>('longview.diagnostics');
  await vscode.commands.executeCommand('workbench.action.closeActiveEditor');
  return report;
}

/** Of every folder, in the order of the workspace. */
export async function countsOfFolders(): Promise<Counts[]> {
  return [...(await diagnostics()).matchAll(/files: (\{.*\})/g)].map(([, json]) => JSON.parse(json!) as Counts);
}

/** Of the only folder. */
export async function counts(): Promise<Counts> {
  const [only] = await countsOfFolders();
  assert.ok(only, 'the folder has counts');
  return only;
}

/** Id of the server's process. */
export async function serverProcess(): Promise<number> {
  return Number(/process (\d+) answered/.exec(await diagnostics())?.[1]);
}

/** Fails after three minutes, naming what did not come. */
export async function until(what: string, isSo: () => Promise<boolean> | boolean): Promise<void> {
  for (const deadline = Date.now() + 180_000; Date.now() < deadline;) {
    if (await isSo()) return;
    await new Promise(done => setTimeout(done, 200));
  }
  assert.fail(`${what} did not come`);
}

/** Ids of the processes below `parent` whose command line holds `part`. Linux. */
export function processesBelow(parent: number, part: string): number[] {
  const all = readdirSync('/proc').filter(name => /^\d+$/.test(name));
  return all.flatMap(name => {
    const pid = Number(name);
    return isBelow(pid, parent) && textOf(`/proc/${pid}/cmdline`).includes(part) ? [pid] : [];
  });
}

function isBelow(pid: number, ancestor: number): boolean {
  for (let at = pid; at > 1;) {
    at = Number(/\) \S (\d+)/.exec(textOf(`/proc/${at}/stat`))?.[1] ?? 0);
    if (at === ancestor) return true;
  }
  return false;
}

function textOf(path: string): string {
  try {
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  } catch {
    return ''; // It has ended.
  }
}
