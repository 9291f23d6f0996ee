/** What people have, byte by byte, through to the lines that recall shows: encodings, line ends, names, links, secrets, reasons. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import iconv from 'iconv-lite';
import { checkCitations } from '../../src/assist/index.js';
import { filesOf } from '../../src/memory/source-files.js';
import { DEFAULT_SETTINGS } from '../../src/memory/settings.js';
import { startCli } from '../cli/cli-process.js';
import { docx, pdf } from './document-samples.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

const isWindows = process.platform === 'win32';

suite('real bytes', function () {
  this.timeout(60_000);
  let folder: Folder;
  let engine: FakeEngine;
  setup(async () => {
    folder = await Folder.of({});
    engine = new FakeEngine();
  });
  teardown(() => folder.dispose());

  /** Comments in their language, as the encodings are met; the third line has the word that is asked for. */
  const languages: Record<string, readonly [text: string, encode: (text: string) => Buffer]> = {
    'utf8-mark.c': ['größe', text => Buffer.from(`\ufeff${text}`)],
    'utf16le.c': ['größe', text => Buffer.from(text, 'utf16le')],
    'utf16be-mark.c': ['größe', text => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
    'sjis.c': ['設定ファイルを読み込んで各行の内容を返します', text => iconv.encode(text, 'shift_jis')],
    'gbk.c': ['读取配置文件返回每一行的内容并检查溢出错误', text => iconv.encode(text, 'gbk')],
    'euckr.c': ['설정 파일을 읽어서 각 줄의 내용을 돌려줍니다', text => iconv.encode(text, 'euc-kr')],
    'latin1.c': [
      "Lit le fichier de préférences, même s'il est très long, à la forêt",
      text => iconv.encode(text, 'latin1'),
    ],
  };

  test('every encoding: the exact line of the text, at its number', async () => {
    for (const [name, [words, encode]] of Object.entries(languages)) {
      const word = name.replace(/\W/g, '');
      await folder.write(name, encode(`// ${words}\r\nint a;\r\n// ${words} needle${word}\r\nint b; // ${words}\r\n`));
    }
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.equal(memory.coverage().read, Object.keys(languages).length);
    for (const [name, [words]] of Object.entries(languages)) {
      const word = `needle${name.replace(/\W/g, '')}`;
      const [span] = await memory.recall(word, { limit: 1 });
      assert.equal(span?.path, name);
      assert.equal(span.text.split('\n')[3 - span.startLine], `// ${words} ${word}`, name);
    }
  });

  test('mixed line ends count as the editor counts them, in recall and citations', async () => {
    await folder.write('a.txt', 'one\r\ntwo\rthree needle\nfour\r\r\nsix');
    const memory = await folder.memory(engine);
    await memory.refresh();
    const [span] = await memory.recall('needle', { limit: 1 });
    assert.equal(span?.text.split('\n')[3 - span.startLine], 'three needle');
    const { text } = await checkCitations('a.txt:6 and a.txt:7', [], memory);
    assert.equal(text, '`a.txt:6` and ~~a.txt:7~~ (the file has 6 lines)');
  });

  test('5 MB in one line, read to its end', async () => {
    await folder.write('long.txt', `${'x'.repeat(5_000_000)} needle`);
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.equal(memory.file('long.txt')?.state, 'read');
    const [span] = await memory.recall('needle', { limit: 1 });
    assert.deepEqual([span?.path, span?.startLine, span?.endLine], ['long.txt', 1, 1]);
  });

  test('20 MB are read in steps between which other work goes on', async () => {
    await folder.write('big.txt', Buffer.alloc(20 << 20, 'all the lines are the same\n'));
    const files = filesOf(folder.root, DEFAULT_SETTINGS);
    let turns = 0;
    let isOver = false;
    const turn = (): void => {
      turns++;
      if (!isOver) setImmediate(turn);
    };
    setImmediate(turn);
    const read = await files.read('big.txt');
    isOver = true;
    assert.ok(read.ok);
    assert.equal(read.value.text.length, 20 << 20);
    // One turn of the event loop for each megabyte from the disk.
    assert.ok(turns >= 20, `${turns} turns`);
  });

  test('names in any Unicode are read and recalled under their own name', async () => {
    const names = [
      'emoji 🙂👩‍👩‍👧.md',
      'مرحبا.md',
      '\u202Egnp.md',
      'cafe\u0301.md',
      'café.md',
      `${'é'.repeat(126)}.md`,
      '日本語/設定 ファイル.md',
      "quote's & $(x) `y` #1 %41.md",
      ...(isWindows ? [] : ['new\nline.md', 'tab\t.md', 'back\\slash.md', ' .md', 'a:12-14.md']),
    ];
    for (const [at, name] of names.entries()) await folder.write(name, `# Title\n\nneedle${at}\n`);
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.deepEqual(
      memory
        .files()
        .map(({ path }) => path)
        .sort(),
      [...names].sort(),
    );
    for (const [at, name] of names.entries()) {
      assert.equal((await memory.recall(`needle${at}`, { limit: 1 }))[0]?.path, name);
    }
  });

  test('a name that is no UTF-8 is a row, and nothing else suffers', async function () {
    if (process.platform !== 'linux') this.skip();
    await writeFile(
      Buffer.concat([Buffer.from(`${folder.root}/bad`), Buffer.from([0xff, 0xfe]), Buffer.from('.md')]),
      'x',
    );
    await folder.write('good.md', 'words');
    const memory = await folder.memory(engine);
    await memory.refresh();
    const rows = memory.files().map(({ path, state, reason }) => [path, state, reason]);
    assert.deepEqual(rows, [
      ['bad\ufffd\ufffd.md', 'skipped', 'unreadable'],
      ['good.md', 'read', undefined],
    ]);
  });

  test('links in a circle and out of the folder: each file once, nothing from outside', async function () {
    if (isWindows) this.skip();
    await folder.write('a/b.md', 'inside');
    await writeFile(join(dirname(folder.root), 'outside.md'), 'outside');
    await symlink('..', join(folder.root, 'a/up'));
    await symlink('../outside.md', join(folder.root, 'leak.md'));
    await symlink('a/b.md', join(folder.root, 'same.md'));
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.deepEqual(engine.reads, ['a/b.md']);
    const leak = memory.file('leak.md');
    assert.deepEqual([leak?.state, leak?.reason], ['skipped', 'outside workspace']);
  });

  test('a file with a private key far inside is a secret, once it is found; named it is read', async () => {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    await folder.write('notes.md', `${'Some words of a long text.\n'.repeat(2000)}\n${pem}`);
    const memory = await folder.memory(engine);
    for (let round = 0; round < 2; round++) {
      await memory.refresh();
      assert.deepEqual(engine.reads, []);
      assert.deepEqual([memory.file('notes.md')?.state, memory.file('notes.md')?.reason], ['skipped', 'secret']);
    }
    await memory.dispose();
    const naming = await folder.memory(engine, { named: ['notes.md'] });
    await naming.refresh();
    assert.equal(naming.file('notes.md')?.state, 'read');
  });

  test('secrets are never read unless named; vendored code is where a .longviewignore takes it back', async () => {
    const key = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n';
    await folder.write('.env', 'TOKEN=hidden');
    await folder.write('deploy.txt', key);
    await folder.write('.gitignore', 'vendor/\n');
    await folder.write('.longviewignore', '!vendor/lib/\n');
    await folder.write('vendor/lib/a.js', 'export const a = 1;\n');
    await folder.write('vendor/other/b.js', 'export const b = 1;\n');
    const memory = await folder.memory(engine);
    await memory.refresh();
    assert.deepEqual([...engine.reads].sort(), ['.gitignore', '.longviewignore', 'vendor/lib/a.js']);
    assert.equal(memory.file('.env')?.reason, 'secret');
    assert.equal(memory.file('deploy.txt')?.reason, 'secret');
    await memory.dispose();
    engine.reads.length = 0;
    await (await folder.memory(engine, { named: ['.env'] })).refresh();
    assert.deepEqual(engine.reads, ['.env']);
  });

  test('every reason of the ledger, as the command line lists it', async function () {
    if (isWindows) this.skip();
    await writeReasons(folder);
    const memory = await folder.memory(engine, { maxFileBytes: 100_000 });
    await memory.refresh();
    // Nothing is closed to the superuser.
    const expected = Object.entries(REASONS).filter(([path]) => path !== 'closed.txt' || process.getuid?.() !== 0);
    assert.deepEqual(reasonsOf(memory.files()), Object.fromEntries(expected));
    await memory.dispose();
    const cli = startCli(['status', folder.root, '--files'], folder.root, { LONGVIEW_DATA: folder.data });
    const { code, out, err } = await cli.ended;
    assert.equal(code, 0, err);
    for (const [path, reason] of expected) {
      assert.ok(out.includes(`${path} (${reason})\n`), `${path} (${reason}) in\n${out}`);
    }
    assert.match(out, /^skipped .*1 encrypted/m);
    await chmod(join(folder.root, 'closed.txt'), 0o600);
  });
});

const REASONS: Readonly<Record<string, string>> = {
  '.env': 'secret',
  'binary.dat': 'binary',
  'broken.pdf': 'damaged',
  'build/': 'ignored',
  'bundle.min.js': 'minified',
  'closed.txt': 'unreadable',
  'dangling.md': 'unreadable',
  'empty.txt': 'empty',
  'leak.md': 'outside workspace',
  'locked.docx': 'encrypted',
  'long.txt': 'too large',
  'made.ts': 'generated',
  'odd.txt': 'encoding',
  'scan.pdf': 'no text',
  'yarn.lock': 'lock file',
};

function reasonsOf(files: readonly { path: string; reason?: string }[]): Record<string, string> {
  return Object.fromEntries(files.flatMap(({ path, reason }) => (reason === undefined ? [] : [[path, reason]])));
}

async function writeReasons(folder: Folder): Promise<void> {
  await folder.write('.gitignore', 'build/\n');
  await folder.write('.env', 'TOKEN=1');
  await folder.write('build/out.js', '1');
  await folder.write('binary.dat', Buffer.from('a\0b'));
  await folder.write('broken.pdf', '%PDF-1.7\n');
  await folder.write('bundle.min.js', 'var a=1');
  await folder.write('closed.txt', 'closed');
  await folder.write('empty.txt', '');
  await folder.write(
    'locked.docx',
    Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.from('EncryptedPackage', 'utf16le')]),
  );
  await folder.write('long.txt', 'word '.repeat(30_000));
  await folder.write('made.ts', '// Code generated by protoc. DO NOT EDIT.\n');
  await folder.write('odd.txt', Buffer.from([0xfe, 0xff, 0x00]));
  await folder.write('scan.pdf', pdf([undefined]));
  await folder.write('yarn.lock', '# lock\n');
  await writeFile(join(dirname(folder.root), 'outside.md'), 'outside');
  await symlink('../outside.md', join(folder.root, 'leak.md'));
  await symlink('nowhere', join(folder.root, 'dangling.md'));
  await folder.write('good.docx', await docx('<w:p><w:r><w:t>words</w:t></w:r></w:p>'));
  await chmod(join(folder.root, 'closed.txt'), 0);
}
