/** `longview read`: brings the memory of a folder up to date, or this machine's share of it, and says what that took. */
import { coverageLine } from '../../assist/index.js';
import type { Shard } from '../../memory/index.js';
import { folderOf, withHouse, type Call } from '../house.js';
import { ensureModel, type ConsentFlags } from '../model-consent.js';
import { count, duration, plural } from '../text.js';

export interface ReadFlags extends ConsentFlags {
  readonly shard?: Shard;
  /** Percent. */
  readonly cpuShare?: number;
}

export async function runRead(call: Call, dir: string, flags: ReadFlags): Promise<void> {
  const { surface, signal } = call;
  const root = folderOf(dir);
  await ensureModel(call, flags);
  await withHouse(call, root, flags, async ({ memory }) => {
    const mine = flags.shard && (await memory.shard(flags.shard, { signal }));
    const only = mine && ((path: string): boolean => mine.has(path));
    const { cpuShare } = flags;
    const report = await memory.refresh({ signal, onProgress: surface.progress, only, forgotten: true, cpuShare });
    const coverage = memory.coverage();
    const shard = flags.shard && { ...flags.shard, files: mine?.size ?? 0 };
    if (flags.json) {
      surface.json({ ...report, coverage, ...(shard && { shard }) });
      return;
    }
    const parts = [`${plural(report.filesRead, 'file')} read (${count(report.tokensRead)} tokens)`];
    if (report.filesForgotten > 0) parts.push(`${plural(report.filesForgotten, 'file')} forgotten`);
    if (report.filesFailed > 0) parts.push(`${plural(report.filesFailed, 'file')} failed`);
    if (shard) surface.out(`Shard ${shard.index} of ${shard.count}: ${plural(shard.files, 'file')}.\n`);
    surface.out(`${parts.join(', ')} in ${duration(report.readMs)}.\n${coverageLine(coverage)}\n`);
  });
}
