/** docs/pains.md names tests as its proof: each has to be there, under its title. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';

/** A file and a title, as the page writes them. */
const proof = /`(test\/[^`]+\.ts)` “([^”]+)”/g;

suite('docs/pains.md', () => {
  const page = readFileSync('docs/pains.md', 'utf8');
  const rows = page.split('\n').filter(line => line.startsWith('| ') && !/^\| (state|pain|-+) +\|/.test(line));

  test('every row names a test, and every test that is named is there', () => {
    assert.ok(rows.length >= 40, `${rows.length} rows`);
    for (const row of rows) {
      const named = [...row.matchAll(proof)];
      assert.ok(named.length > 0, `no test in: ${row}`);
      for (const [, file, title] of named) {
        assert.ok(existsSync(file!), `${file} is not there`);
        const source = readFileSync(file!, 'utf8');
        const titles = ["'", '"', '`'].map(quote => `test(${quote}${title}${quote}`);
        assert.ok(
          titles.some(text => source.includes(text)),
          `${file} has no test “${title}”`,
        );
      }
    }
  });

  test('the numbers of the pains are in order, each once', () => {
    const numbers = rows.flatMap(row => /^\| (\d+) /.exec(row)?.[1] ?? []).map(Number);
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].sort((a, b) => a - b),
    );
  });
});
