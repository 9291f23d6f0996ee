/**
 * Makes a folder and those above it that are missing. Node's own way to do so never ends where the system answers that
 * there is nothing to make one in, as in /proc. Knows no disk: what it does there is given to it.
 */

export interface Folders {
  existsSync(path: string): boolean;
  mkdirSync(path: string, options: { recursive?: boolean; mode?: number }): unknown;
  dirname(path: string): string;
}

/** Throws what the system says. `mode` is that of folders that were missing. */
export function makeFolder(path: string, folders: Folders, mode?: number): void {
  if (!folders.existsSync(path)) {
    let missing = path;
    for (let above = folders.dirname(path); !folders.existsSync(above); above = folders.dirname(above)) missing = above;
    try {
      folders.mkdirSync(missing, { mode });
    } catch (error) {
      // Another process was faster.
      if ((error as { code?: unknown }).code !== 'EEXIST') throw error;
    }
  }
  folders.mkdirSync(path, { recursive: true, mode });
}
