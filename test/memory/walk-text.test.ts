/** Bytes to text: marks, UTF-16, other encodings by detection, binaries; files that change while they are read. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { appendFileSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import iconv from 'iconv-lite';
import { orderForReading, readText } from '../../src/memory/walk/index.js';

/** Sources with comments in their language, as the encodings are met in repositories. */
const GBK =
  '// 读取配置文件，返回每一行的内容。\nint main(void) {\n  puts("你好，世界"); // 打印问候语\n  return 0;\n}\n/* 这个函数计算两个数的和，并检查溢出错误。 */\n';
const SJIS =
  '// 設定ファイルを読み込んで、各行の内容を返します。\nint main(void) {\n  puts("こんにちは世界"); // あいさつを表示する\n  return 0;\n}\n';
const EUC_KR =
  '// 설정 파일을 읽어서 각 줄의 내용을 돌려줍니다.\nint main(void) {\n  puts("안녕하세요 세계"); // 인사말을 출력한다\n  return 0;\n}\n';
const LATIN1 =
  '// Lit le fichier de préférences et renvoie chaque ligne, même si elle est très longue.\nint main(void) { puts("Où êtes-vous allé cet été ? À la forêt."); return 0; }\n';
const RUSSIAN =
  '// Читает файл настроек и возвращает содержимое каждой строки.\nint main(void) { puts("Привет, мир"); return 0; }\n';

suite('walk: text', () => {
  let folder: string;
  setup(async () => {
    folder = await mkdtemp(join(tmpdir(), 'longview-text-'));
  });
  teardown(() => rm(folder, { recursive: true, force: true }));

  const read = async (bytes: Uint8Array): Promise<unknown> => {
    const path = join(folder, 'file');
    await writeFile(path, bytes);
    const result = await readText(path);
    return result.ok ? [result.value.encoding, result.value.text] : result.reason;
  };
  const utf16 = (text: string, big = false): Buffer => {
    const bytes = Buffer.from(text, 'utf16le');
    return big ? bytes.swap16() : bytes;
  };

  test('text, hash, size and time are those of the bytes', async () => {
    const path = join(folder, 'a.txt');
    const bytes = Buffer.from('\ufeffone\r\ntwo\rthree\n', 'utf8');
    await writeFile(path, bytes);
    await utimes(path, 1_700_000_000, 1_700_000_000.123);
    assert.deepEqual(await readText(path), {
      ok: true,
      value: {
        // A carriage return alone is a line end, as in the editor.
        text: 'one\r\ntwo\nthree\n',
        hash: createHash('sha256').update(bytes).digest('hex'),
        encoding: 'utf-8',
        size: bytes.byteLength,
        mtimeMs: (await stat(path)).mtimeMs,
      },
    });
  });

  test('UTF-8 and UTF-16, with and without a mark', async () => {
    const text = 'const größe = "🙂"; // Zeile\r\n';
    assert.deepEqual(await read(Buffer.from(text)), ['utf-8', text]);
    assert.deepEqual(await read(utf16(`\ufeff${text}`)), ['utf-16le', text]);
    assert.deepEqual(await read(utf16(`\ufeff${text}`, true)), ['utf-16be', text]);
    assert.deepEqual(await read(utf16(text)), ['utf-16le', text]);
    assert.deepEqual(await read(utf16(text, true)), ['utf-16be', text]);
    assert.deepEqual(await read(new Uint8Array(0)), ['utf-8', '']);
    // A mark in the middle is text.
    assert.deepEqual(await read(Buffer.from('a\ufeffb')), ['utf-8', 'a\ufeffb']);
  });

  for (const [name, text, names] of [
    ['gbk', GBK, ['gb18030']],
    ['shift_jis', SJIS, ['shift_jis']],
    ['euc-kr', EUC_KR, ['euc-kr']],
    ['latin1', LATIN1, ['iso-8859-1', 'windows-1252']],
    ['windows-1251', RUSSIAN, ['windows-1251']],
    ['koi8-r', RUSSIAN, ['koi8-r']],
    ['big5', '/* 讀取設定檔，傳回每一行的內容。這個函式計算兩個數的總和，並檢查是否溢位。 */\n', ['big5']],
  ] as const) {
    test(`${name} is told by its letters`, async () => {
      const [encoding, decoded] = (await read(iconv.encode(text, name))) as [string, string];
      assert.equal(decoded, text);
      assert.ok((names as readonly string[]).includes(encoding), encoding);
    });
  }

  test('a few broken bytes in UTF-8 do not make it another encoding', async () => {
    const text = 'Füße und Käse für alle, schöne Grüße aus Köln.\n'.repeat(60);
    const bytes = Buffer.concat([Buffer.from(text), Buffer.from([0xc3]), Buffer.from('\nEnde\n')]);
    assert.deepEqual(await read(bytes), ['utf-8', `${text}\ufffd\nEnde\n`]);
  });

  test('binary data is no text', async () => {
    assert.equal(await read(Buffer.from('abc\0def')), 'binary');
    assert.equal(await read(Buffer.from([0xff, 0xfe, 0, 0, 65, 0, 0, 0])), 'binary');
    assert.equal(await read(Buffer.from(Array.from({ length: 500 }, (_, at) => 1 + ((at * 7) % 31)))), 'binary');
    assert.equal(await read(Buffer.from([0xfe, 0xff, 0x00])), 'encoding');
  });

  test('any string in UTF-8 is read as it is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', maxLength: 200 }), async text => {
        // eslint-disable-next-line no-control-regex -- control characters make a binary
        fc.pre(!/[\0-\x08\x0e-\x1f\x7f]/.test(text) && !text.startsWith('\ufeff'));
        assert.deepEqual(await read(Buffer.from(text)), ['utf-8', text.replace(/\r(?!\n)/g, '\n')]);
      }),
      { seed: 7, numRuns: 200 },
    );
  });

  test('5 MB in one line', async () => {
    const text = 'long line '.repeat(500_000);
    const result = await readText(await put('long', text));
    assert.equal(result.ok && result.value.text.length, 5_000_000);
  });

  const put = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };

  test('what cannot be read is a reason', async () => {
    assert.deepEqual(await readText(join(folder, 'absent')), { ok: false, reason: 'unreadable' });
    assert.deepEqual(await readText(folder), { ok: false, reason: 'unreadable' });
    assert.deepEqual(await readText(await put('big', 'x'.repeat(11)), { maxBytes: 10 }), {
      ok: false,
      reason: 'too large',
    });
    assert.equal((await readText(await put('fits', 'x'.repeat(10)), { maxBytes: 10 })).ok, true);
  });

  test('a link out of the given folder is not followed', async () => {
    await mkdir(join(folder, 'in'));
    await put('out', 'secret');
    await put('in/own', 'text');
    await symlink(join(folder, 'out'), join(folder, 'in/leak'));
    await symlink('own', join(folder, 'in/link'));
    const within = join(folder, 'in');
    assert.deepEqual(await readText(join(within, 'leak'), { within }), { ok: false, reason: 'outside workspace' });
    assert.equal((await readText(join(within, 'link'), { within })).ok, true);
  });

  test('a file that changes while it is read is read again, and given up if it never rests', async function () {
    this.timeout(10_000);
    const path = await put('changing', 'x'.repeat(20_000_000));
    // Written to soon after the reading began: the text is the one before or the one after, never a mixture.
    setTimeout(() => writeFileSync(path, 'y'.repeat(20_000_000)), 3);
    const once = await readText(path);
    assert.ok(once.ok);
    assert.equal(new Set(once.value.text).size, 1);

    const restless = await put('restless', 'x'.repeat(2_000_000));
    let running = true;
    const disturb = (): void => {
      if (!running) return;
      appendFileSync(restless, 'y');
      setImmediate(disturb);
    };
    disturb();
    const never = await readText(restless);
    running = false;
    assert.deepEqual(never, { ok: false, reason: 'changing' });
  });
});

suite('walk: reading order', () => {
  test('asked for, READMEs, documents, then folder by folder, small first', () => {
    const files = [
      ['src/b/two.ts', 5],
      ['src/b/one.ts', 9],
      ['src/a/big.ts', 100],
      ['src/a/small.ts', 1],
      ['main.ts', 50],
      ['docs/guide.html', 3],
      ['CHANGELOG.md', 1000],
      ['ARCHITECTURE.md', 10],
      ['src/README.md', 2],
      ['readme', 7],
      ['open.ts', 9999],
    ].map(([path, size]) => ({ path: path as string, size: size as number }));
    assert.deepEqual(
      orderForReading(files, { first: ['open.ts', 'absent.ts', 'src/a/big.ts'] }).map(file => file.path),
      [
        'open.ts',
        'src/a/big.ts',
        'readme',
        'src/README.md',
        'ARCHITECTURE.md',
        'CHANGELOG.md',
        'docs/guide.html',
        'main.ts',
        'src/a/small.ts',
        'src/b/two.ts',
        'src/b/one.ts',
      ],
    );
    assert.equal(files[0]?.path, 'src/b/two.ts');
  });
});
