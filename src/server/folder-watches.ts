/**
 * The folders that requests were about, each with a watch: the client says which files changed, and whoever opened a folder
 * gets it looked at once by itself, for nobody told what changed while no server ran. Never looks at a folder that no
 * request named.
 */
import { relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Disposable, Log } from '../base/index.js';
import type { ChangeReport } from '../memory/index.js';
import { FolderWatch } from './folder-watch.js';

export interface WatchesParts {
  readonly look: (root: string, paths: readonly string[], signal: AbortSignal) => Promise<ChangeReport | undefined>;
  /** `folder`: the URI under which requests named it. */
  readonly onLooked: (folder: string, report: ChangeReport) => void;
  readonly log: Log;
}

/** A request that looks at the whole folder itself may come within this time, and usually does. */
const startDelayMs = 5000;

export class FolderWatches implements Disposable {
  private readonly watches = new Map<string, FolderWatch>();
  private readonly starts = new Map<string, NodeJS.Timeout>();

  constructor(private readonly parts: WatchesParts) {}

  /** `looks`: the request looks at the whole folder itself. */
  opened(folder: string, root: string, looks: boolean): void {
    if (looks) clearTimeout(this.starts.get(root));
    if (this.watches.has(root)) return;
    const { look, onLooked, log } = this.parts;
    const watch = new FolderWatch({
      look: (paths, signal) => look(root, paths, signal),
      onLooked: report => {
        log('debug', `Looked for changes in ${folder}: ${report.changes} found, ${report.waiting} files to read.`);
        onLooked(folder, report);
      },
      log,
    });
    this.watches.set(root, watch);
    const start = setTimeout(() => watch.add(''), startDelayMs);
    start.unref();
    this.starts.set(root, start);
    if (looks) clearTimeout(start);
  }

  /** URIs of files or folders that were made, changed or deleted. */
  changed(uris: readonly string[]): void {
    for (const uri of uris) {
      const path = pathOf(uri);
      if (path === undefined) continue;
      for (const [root, watch] of this.watches) {
        if (path.startsWith(root + sep)) watch.add(relative(root, path).split(sep).join('/'));
      }
    }
  }

  dispose(): void {
    for (const start of this.starts.values()) clearTimeout(start);
    for (const watch of this.watches.values()) watch.dispose();
  }
}

/** Undefined where it is no path of this machine. */
function pathOf(uri: string): string | undefined {
  try {
    return fileURLToPath(uri);
  } catch {
    return undefined;
  }
}
