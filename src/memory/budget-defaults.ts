/** Budgets where the settings name none: a share of what the machine has. */
import { statfs } from 'node:fs/promises';
import { totalmem } from 'node:os';
import { DEFAULT_SETTINGS, type MemorySettings } from './settings.js';

const MOST_DISK = 20_000_000_000;

/** As users name them: MB of RAM and disk, where 0 and missing are automatic, and tokens that the state is made of. */
export interface UserBudgets {
  readonly ram?: number;
  readonly disk?: number;
  readonly state?: number;
}

export function budgetsOf({
  ram = 0,
  disk = 0,
  state = DEFAULT_SETTINGS.stateTokens,
}: UserBudgets): Pick<MemorySettings, 'ramBytes' | 'diskBytes' | 'stateTokens'> {
  return { ramBytes: ram * 1e6, diskBytes: disk * 1e6, stateTokens: state };
}

/** An eighth of the memory; a fifth of the disk's free space, 20 GB at most. `folder` lies on that disk, or will. */
export async function withBudgets(settings: MemorySettings, folder: string): Promise<MemorySettings> {
  const { ramBytes, diskBytes } = settings;
  return {
    ...settings,
    ramBytes: ramBytes || totalmem() / 8,
    diskBytes: diskBytes || Math.min(MOST_DISK, (await freeBytes(folder)) / 5),
  };
}

async function freeBytes(folder: string): Promise<number> {
  const disk = await statfs(folder).catch(() => undefined);
  return disk ? disk.bavail * disk.bsize : Infinity;
}
