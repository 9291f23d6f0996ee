/** Source text in which functions have doc comments, for calibrations of a model that knows nothing. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `count` commented functions, 6 lines and a blank one each. */
export function commentedSource(count: number): string {
  return Array.from({ length: count }, (_, i) =>
    [
      `/** Sorts the rows of table ${i} by column. */`,
      `export function f${i}(rows) {`,
      '  const copy = [...rows];',
      '  copy.sort();',
      '  return copy;',
      '}',
      '',
    ].join('\n'),
  ).join('\n');
}

/** Files by their path under `folder`. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
