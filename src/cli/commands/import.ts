/** `longview import`: takes exported memories over, so that only what differs has to be read. Needs the model, never loads it. */
import { resolve } from 'node:path';
import { coverageLine } from '../../assist/index.js';
import { folderOf, withHouse, type Call, type GlobalFlags } from '../house.js';
import { count, plural } from '../text.js';

export async function runImport(call: Call, dir: string, given: readonly string[], flags: GlobalFlags): Promise<void> {
  const { surface, signal } = call;
  const paths = given.map(file => resolve(file));
  await withHouse(call, folderOf(dir), flags, async ({ memory }) => {
    const report = await memory.importFrom(paths, { signal, onProgress: surface.progress });
    if (flags.json) {
      surface.json(report);
      return;
    }
    const { files, added, known, coverage } = report;
    const there = known > 0 ? `, ${count(known)} were there already` : '';
    surface.out(`${plural(files, 'file')} imported: ${count(added)} memories added${there}.\n`);
    surface.out(`${coverageLine(coverage)}\n`);
  });
}
