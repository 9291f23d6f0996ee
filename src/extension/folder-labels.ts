/** Names of workspace folders that tell them apart: equal names get as much of their path as they need. Pure. */
import type { Uri } from 'vscode';
import type { FolderView } from '../protocol/index.js';

interface Folder {
  readonly name: string;
  readonly uri: Pick<Uri, 'scheme' | 'path' | 'toString'>;
}

/** Folders on a disk alone: the others cannot be read. */
export function folderViews(folders: readonly Folder[]): FolderView[] {
  const onDisk = folders.filter(({ uri }) => uri.scheme === 'file');
  return onDisk.map(folder => {
    const twins = onDisk.filter(other => other !== folder && other.name === folder.name);
    const label = twins.length === 0 ? folder.name : `${folder.name} — ${endOf(folder, twins)}`;
    return { uri: folder.uri.toString(), label };
  });
}

/** The shortest end of the folder's path that none of the twins has. */
function endOf({ uri }: Folder, twins: readonly Folder[]): string {
  const parts = partsOf(uri.path);
  for (let count = 1; count < parts.length; count++) {
    const end = parts.slice(-count).join('/');
    if (twins.every(twin => partsOf(twin.uri.path).slice(-count).join('/') !== end)) return end;
  }
  return uri.path;
}

function partsOf(path: string): string[] {
  return path.split('/').filter(part => part !== '');
}
