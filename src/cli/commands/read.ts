/** `longview read`: brings the memory of a folder up to date and says what that took. */
import { coverageLine } from '../../assist/index.js';
import { folderOf, withHouse, type Call } from '../house.js';
import { ensureModel, type ConsentFlags } from '../model-consent.js';
import { count, duration, plural } from '../text.js';

export async function runRead(call: Call, dir: string, flags: ConsentFlags): Promise<void> {
  const { surface, signal } = call;
  const root = folderOf(dir);
  await ensureModel(call, flags);
  await withHouse(call, root, flags, async ({ memory }) => {
    const report = await memory.refresh({ signal, onProgress: surface.progress });
    const coverage = memory.coverage();
    if (flags.json) {
      surface.json({ ...report, coverage });
      return;
    }
    const parts = [`${plural(report.filesRead, 'file')} read (${count(report.tokensRead)} tokens)`];
    if (report.filesForgotten > 0) parts.push(`${plural(report.filesForgotten, 'file')} forgotten`);
    if (report.filesFailed > 0) parts.push(`${plural(report.filesFailed, 'file')} failed`);
    surface.out(`${parts.join(', ')} in ${duration(report.readMs)}.\n${coverageLine(coverage)}\n`);
  });
}
