/**
 * Paths of one folder that changed, until they are looked at: each once, and above a bound "everything" instead of them, so
 * that a checkout of any size takes no more memory than that. Looks at no disk.
 */
import { walkedAfterChangeOf } from '../base/index.js';

/** With more changes than that, one walk of the whole folder costs less than looking for each. */
export const MOST_CHANGED_PATHS = 500;

/** The path of the whole folder. */
const EVERYTHING = '';

export class ChangedPaths {
  private paths = new Set<string>();

  get size(): number {
    return this.paths.size;
  }

  /** `path` relative to the folder, with `/`; empty for all of it. False where nothing has to be looked at for it. */
  add(path: string): boolean {
    const walked = walkedAfterChangeOf(path);
    if (walked === undefined) return false;
    if (this.paths.has(EVERYTHING)) return true;
    this.paths.add(walked);
    if (walked === EVERYTHING || this.paths.size > MOST_CHANGED_PATHS) this.paths = new Set([EVERYTHING]);
    return true;
  }

  /** What has to be looked at; then nothing is left. */
  take(): string[] {
    const taken = [...this.paths];
    this.paths = new Set();
    return taken;
  }
}
