/** The tree of the Memory view: levels, counts, filter, 100,000 files. Right values are counted by hand or from the rows. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { CoverageTree, type CoverageNode } from '../../src/extension/coverage-tree.js';
import type { FileRow, FileState } from '../../src/protocol/index.js';

const row = (path: string, state: FileState = 'read', tokens = 10): FileRow => ({ path, state, tokens });
const names = (nodes: readonly CoverageNode[]): string[] =>
  nodes.map(node => (node.kind === 'rest' ? `+${node.count}` : node.kind === 'folder' ? `${node.name}/` : node.name));

suite('coverage tree', () => {
  const rows = [
    row('src/a.ts'),
    row('src.md', 'stale'),
    row('src/net/b.ts', 'waiting', 0),
    row('src/net/c.ts'),
    row('src-old/d.ts', 'coarse'),
    { ...row('build/', 'skipped', 0), reason: 'ignored' },
    row('README.md'),
  ];

  test('folders first; a folder that is skipped as a whole is one node with its reason', () => {
    const tree = new CoverageTree(rows);
    assert.deepEqual(names(tree.children('')), ['src-old/', 'src/', 'README.md', 'build/', 'src.md']);
    assert.deepEqual(names(tree.children('src/')), ['net/', 'a.ts']);
    const build = tree.children('').find(node => node.kind === 'file' && node.name === 'build/');
    assert.equal(build?.kind === 'file' ? build.row.reason : '', 'ignored');
  });

  test('counts of a folder are those of everything in it', () => {
    const [, source] = new CoverageTree(rows).children('');
    assert.deepEqual(source, {
      kind: 'folder',
      path: 'src/',
      name: 'src',
      files: 3,
      states: { read: 2, waiting: 1 },
      tokens: 20,
    });
    assert.equal(new CoverageTree(rows).summary().files, 7);
  });

  test('filtered by state, only folders that hold such files are left', () => {
    const tree = new CoverageTree(rows, 'waiting');
    assert.deepEqual(names(tree.children('')), ['src/']);
    assert.deepEqual(names(tree.children('src/net/')), ['b.ts']);
    assert.deepEqual(new CoverageTree(rows, 'reading').children(''), []);
  });

  test('100,000 files in one folder come in portions of 1,000', () => {
    const many = Array.from({ length: 100_000 }, (_, at) => row(`lib/file-${at}.ts`));
    const tree = new CoverageTree(many);
    assert.deepEqual(names(tree.children('')), ['lib/']);
    const first = tree.children('lib/');
    assert.equal(first.length, 1001);
    assert.deepEqual(first.at(-1), { kind: 'rest', path: 'lib/', from: 1000, count: 99_000 });
    const last = tree.children('lib/', 99_000);
    assert.equal(last.length, 1000);
    assert.ok(last.every(node => node.kind === 'file'));
  });

  test('every file is found exactly once by opening all levels', () => {
    const segment = fc.constantFrom('a', 'b', 'a-b', 'a.b', 'a0', 'é', ' ');
    const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map(parts => parts.join('/'));
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 60 }), paths => {
        // A path cannot be both a file and a folder.
        const files = paths.filter(one => !paths.some(other => other.startsWith(`${one}/`)));
        const tree = new CoverageTree(files.map(one => row(one)));
        const found: string[] = [];
        const open = (folder: string): number => {
          let count = 0;
          for (const node of tree.children(folder)) {
            if (node.kind === 'file') {
              found.push(node.row.path);
              count++;
            } else if (node.kind === 'folder') {
              const below = open(node.path);
              assert.equal(node.files, below);
              count += below;
            }
          }
          return count;
        };
        open('');
        assert.deepEqual(found.sort(), [...files].sort());
      }),
      { seed: 3, numRuns: 200 },
    );
  });
});
