/** Where a workspace's store lies under the data directory. Never creates anything. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';

/**
 * `<data>/workspaces/<16 hex digits of the path's SHA-256>-<slug of its last part>`. Pass the workspace's real path:
 * two paths to one folder must give one store. The slug is only for people who look into the folder.
 */
export function storeFolder(data: string, workspaceRealpath: string): string {
  const trimmed = workspaceRealpath.length > 1 ? workspaceRealpath.replace(/[\\/]+$/, '') : workspaceRealpath;
  const hash = createHash('sha256').update(trimmed, 'utf8').digest('hex').slice(0, 16);
  const slug = (trimmed.split(/[\\/]/).at(-1) ?? '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 32);
  return join(data, 'workspaces', slug === '' ? hash : `${hash}-${slug}`);
}
