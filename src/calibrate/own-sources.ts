/** Where text lies that this installation brings itself: its own commented sources, in a clone or beside the bundles. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LongviewError } from '../base/index.js';

/** `dist/calibration` of a package (scripts/bundle.mjs), or `src` of a clone. Throws `not-found` where there is neither. */
export function ownSources(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const packaged = join(folder, 'calibration', 'engine');
    if (existsSync(packaged)) return dirname(packaged);
    const cloned = join(folder, 'src', 'engine', 'engine.ts');
    if (existsSync(cloned)) return join(folder, 'src');
    const parent = dirname(folder);
    if (parent === folder) {
      throw new LongviewError(
        'not-found',
        'This installation of Longview lacks its sources: name a folder with commented code.',
      );
    }
    folder = parent;
  }
}
