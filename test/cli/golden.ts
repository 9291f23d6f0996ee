/** Golden texts: a text must equal the file of its name; `UPDATE_GOLDEN=1` writes the files instead, for a diff to read. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';

export function assertGolden(name: string, text: string): void {
  const path = resolve('test/cli/golden', name);
  if (process.env['UPDATE_GOLDEN'] === '1') writeFileSync(path, text);
  assert.equal(text, readFileSync(path, 'utf8'), `${name} differs; if that is meant, run with UPDATE_GOLDEN=1`);
}
