/**
 * What the system refused, as advice: the raw text of such errors (`ENOENT: no such file…`) helps nobody. Knows their codes
 * alone, and nothing of Node.
 */
import { LongviewError } from './errors.js';

const advice: Readonly<Record<string, string>> = {
  ENOENT: 'is not there (any more): check the name and try again',
  ENOTDIR: 'cannot be opened: a part of this path is a file, not a folder',
  EISDIR: 'is a folder where a file is needed',
  EACCES: 'may not be opened by you: change its permissions, or choose another place',
  EPERM: 'may not be changed by you: change its permissions, or choose another place',
  EROFS: 'lies on a disk that cannot be written: choose another place',
  ENOSPC: 'does not fit on its disk: make room, or choose another data folder with --data',
  EDQUOT: 'does not fit into your share of its disk: make room, or choose another data folder with --data',
  EEXIST: 'is there already and is something else: move it away, or choose another name',
  ENAMETOOLONG: 'is too long a name for this disk',
  ELOOP: 'is a symbolic link that leads back to itself',
  EBUSY: 'is in use by another program: close that and try again',
  EMFILE: 'could not be opened, too many files are: close other programs, or raise the limit (ulimit -n)',
  ENFILE: 'could not be opened, too many files are: close other programs',
  EIO: 'could not be read or written: the disk reports a fault',
};

/** What is the matter with the path of an error of the system, to be said after its name; undefined for any other error. */
export function systemReason(error: unknown): string | undefined {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' ? advice[code] : undefined;
}

/** The error with a message that says what to do; any other error as it is. */
export function advised(error: unknown): unknown {
  const reason = systemReason(error);
  if (reason === undefined || error instanceof LongviewError || !(error instanceof Error)) return error;
  const { code, path } = error as Error & { code?: unknown; path?: unknown };
  const what = typeof path === 'string' ? shortened(path) : 'A file';
  return Object.assign(new Error(`${what} ${reason}.`, { cause: error }), { code, stack: error.stack });
}

const mostOfPath = 160;

function shortened(path: string): string {
  return path.length <= mostOfPath ? path : `${path.slice(0, mostOfPath)}…`;
}
