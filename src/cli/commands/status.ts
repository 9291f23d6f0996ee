/** `longview status`: what is read of a folder and how big its memory is. Never reads a file into the memory. */
import { coverageLine, reasonsLine } from '../../assist/index.js';
import { escaped } from '../../base/index.js';
import type { WorkspaceStatus } from '../../memory/index.js';
import { folderOf, withHouse, type Call, type GlobalFlags } from '../house.js';
import { count, plural, size } from '../text.js';

export interface StatusFlags extends GlobalFlags {
  readonly files?: boolean;
}

export async function runStatus(call: Call, dir: string, flags: StatusFlags): Promise<void> {
  const { surface, signal } = call;
  await withHouse(call, folderOf(dir), flags, async ({ memory }) => {
    await memory.scan({ signal, onProgress: surface.progress });
    const status = memory.status();
    const files = flags.files ? memory.files() : undefined;
    if (flags.json) {
      surface.json(files ? { ...status, files } : status);
      return;
    }
    for (const file of files ?? []) {
      const reason = file.reason === undefined ? '' : ` (${file.reason})`;
      surface.out(`${file.state.padEnd(8)} ${count(file.tokens).padStart(9)}  ${escaped(file.path)}${reason}\n`);
    }
    surface.out(
      [
        coverageLine(status.coverage),
        ...(status.coverage.skipped === 0 ? [] : [`skipped ${reasonsLine(status.skipped)}`]),
        `tokens  ${count(status.tokens)}`,
        `state   ${plural(status.state.slots, 'slot')}, ${size(status.state.bytes)}${madeOf(status)}`,
        `recall  ${plural(status.recall.slots, 'slot')}, ${size(status.recall.bytes)}`,
        `store   ${size(status.store.bytes)} in ${status.store.path}`,
        '',
      ].join('\n'),
    );
  });
}

/** How the state was made and, where it is of a part of what was read, of how much. */
function madeOf({ tokens, state }: WorkspaceStatus): string {
  const { made, tokens: own } = state;
  if (made === undefined) return '';
  return `, ${made}${own !== undefined && own < tokens ? ` of the ${count(own)} tokens read first` : ''}`;
}
