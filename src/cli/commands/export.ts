/** `longview export`: the memory of a folder as one file, for another machine or folder. Reads no file of the folder. */
import { resolve } from 'node:path';
import { folderOf, withHouse, type Call, type GlobalFlags } from '../house.js';
import { count, plural, size } from '../text.js';

export interface ExportFlags extends GlobalFlags {
  readonly force?: boolean;
}

export async function runExport(call: Call, dir: string, given: string, flags: ExportFlags): Promise<void> {
  const { surface, signal } = call;
  const file = resolve(given);
  await withHouse(call, folderOf(dir), flags, async ({ memory }) => {
    const replace = flags.force ?? false;
    const report = await memory.exportTo(file, { replace, signal, onProgress: surface.progress });
    if (flags.json) {
      surface.json({ file, ...report });
      return;
    }
    const { files, tokens, bytes, leftOut } = report;
    surface.out(`${plural(files, 'file')} (${count(tokens)} tokens), ${size(bytes)}: ${file}\n`);
    const { waiting, stale } = memory.coverage();
    if (waiting + stale > 0)
      surface.out(`${plural(waiting + stale, 'file')} not in it, for it is not read yet: run "longview read" first.\n`);
    if (leftOut > 0)
      surface.out(
        `${plural(leftOut, 'file')} left out: read partly or coarsely, or under a name that not every system has.\n`,
      );
  });
}
