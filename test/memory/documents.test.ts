/** Text of PDF and Word files and of notebooks, its places, and what comes of documents that are broken or made to harm. */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { DocumentReader, placeName, type DocumentKind } from '../../src/memory/documents/index.js';
import { docx, heading, notebook, paragraph, pdf, pdfOf, zip } from './document-samples.js';

const reader = new DocumentReader();

/** Text and places, or the reason. */
async function textOf(kind: DocumentKind, bytes: Uint8Array, of = reader): Promise<unknown> {
  const read = await of.read(kind, createHash('sha256').update(bytes).digest('hex'), bytes);
  if (!read.ok) return read.reason;
  const { text, places, partial } = read.value;
  return [text, places.firstLines, ...(partial === undefined ? [] : [partial])];
}

suite('documents: notebooks', () => {
  test('cells as Markdown, code between fences, without outputs', async () => {
    const bytes = notebook([
      { kind: 'markdown', source: ['# Sunspots\n', 'How many?'] },
      { kind: 'code', source: 'x = 1\r\n# not a heading', outputs: [{ data: { 'image/png': 'iVBORw0KGgo=' } }] },
      { kind: 'code', source: '' },
      { kind: 'code', source: 'print("```")' },
      { kind: 'raw', source: 'as it is' },
    ]);
    // Cell 3 is empty: it has the first line of cell 4.
    const text =
      '# Sunspots\nHow many?\n\n```python\nx = 1\n# not a heading\n```\n\n````python\nprint("```")\n````\n\nas it is\n\n';
    assert.deepEqual(await textOf('notebook', bytes), [text, [1, 4, 9, 9, 13]]);
  });

  test('the third format: worksheets, input, headings', async () => {
    const old = {
      nbformat: 3,
      worksheets: [
        {
          cells: [
            { cell_type: 'heading', level: 2, source: 'Data' },
            { cell_type: 'code', input: ['a = 1\n', 'b = 2'], language: 'python', outputs: [] },
          ],
        },
      ],
    };
    assert.deepEqual(await textOf('notebook', Buffer.from(JSON.stringify(old))), [
      '## Data\n\n```\na = 1\nb = 2\n```\n\n',
      [1, 3],
    ]);
  });

  test('what is no notebook is damaged', async () => {
    for (const text of ['', '{"cells": ', '[]', '{"nbformat": 4}', 'null', '\ufeff{}']) {
      assert.equal(await textOf('notebook', Buffer.from(text)), 'damaged', text);
    }
  });
});

suite('documents: PDF', () => {
  test('lines page by page; a gap is a blank line; a page without text is told', async () => {
    const bytes = pdf([['Chapter (1)', 'first line'], undefined, ['after', '', 'the gap']]);
    assert.deepEqual(await textOf('pdf', bytes), [
      'Chapter (1)\nfirst line\n\nafter\n\nthe gap\n',
      [1, 4, 4],
      'no text on page 2 of 3',
    ]);
  });

  test('without a text layer: no text', async () => {
    assert.equal(await textOf('pdf', pdf([undefined, undefined])), 'no text');
  });

  test('a password: encrypted', async () => {
    // Standard security handler, revision 3, with a /U that no empty password gives.
    const encrypt = `<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O <${'11'.repeat(32)}> /U <${'22'.repeat(32)}> >>`;
    const bytes = pdf([['hidden']], { objects: [encrypt], trailer: '/Encrypt 6 0 R /ID [<00><00>]' });
    assert.equal(await textOf('pdf', bytes), 'encrypted');
  });

  test('Japanese by a character map, with a font that is not in the file', async () => {
    // Codes of 90ms-RKSJ-H are Shift-JIS: 設定 is 90dd 92e8.
    const font =
      '<< /Type /Font /Subtype /Type0 /BaseFont /Ryumin-Light /Encoding /90ms-RKSJ-H /DescendantFonts [6 0 R] >>';
    const descendant =
      '<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Ryumin-Light /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> /FontDescriptor 7 0 R >>';
    const descriptor =
      '<< /Type /FontDescriptor /FontName /Ryumin-Light /Flags 6 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 /StemV 80 >>';
    const content = Buffer.from('BT /F1 12 Tf 72 720 Td <90dd92e8> Tj ET');
    assert.deepEqual(await textOf('pdf', pdfOf([content], { font, objects: [descendant, descriptor] })), [
      '設定\n',
      [1],
    ]);
  });

  test('what is no PDF, or the beginning of one, is damaged or without text', async () => {
    const whole = pdf([['some words']]);
    for (const bytes of [Buffer.from('not a PDF'), Buffer.from('%PDF-1.7\n'), randomBytes(1000), Buffer.alloc(0)]) {
      assert.equal(await textOf('pdf', bytes), 'damaged');
    }
    for (let length = 20; length < whole.length; length += 60) {
      const text = await textOf('pdf', whole.subarray(0, length));
      const isSound = text === 'damaged' || text === 'no text' || JSON.stringify(text) === '["some words\\n",[1]]';
      assert.ok(isSound, `${length}: ${JSON.stringify(text)}`);
    }
  });

  test('the same bytes give the same text in another process', async () => {
    const bytes = pdf([['one', '', 'two'], ['three']]);
    assert.deepEqual(await textOf('pdf', bytes, new DocumentReader()), await textOf('pdf', bytes));
  });
});

suite('documents: Word', () => {
  test('headings, paragraphs, items, tables; numbers of paragraphs', async () => {
    const item = '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>';
    const cell = (text: string): string => `<w:tc>${paragraph(text)}</w:tc>`;
    const bytes = await docx(
      [
        heading('Über uns', 1),
        paragraph('A & B < C'),
        paragraph(''),
        heading('Prices', 2),
        paragraph('tea', item),
        paragraph('coffee', item),
        `<w:tbl><w:tr>${cell('a')}${cell('b')}</w:tr><w:tr>${cell('1')}${cell('2')}</w:tr></w:tbl>`,
        '<w:p><w:r><w:t>first</w:t><w:br/><w:t>second</w:t></w:r></w:p>',
      ].join(''),
      { 'word/numbering.xml': NUMBERING },
    );
    assert.deepEqual(await textOf('docx', bytes), [
      '# Über uns\n\nA & B < C\n\n## Prices\n\n- tea\n- coffee\na | b\n1 | 2\n\nfirst\nsecond\n',
      [1, 3, 5, 7, 8, 9, 10, 12],
    ]);
  });

  test('deleted words are not text, inserted ones are', async () => {
    const bytes = await docx(
      '<w:p><w:del><w:r><w:delText>old</w:delText></w:r></w:del><w:ins><w:r><w:t>new</w:t></w:r></w:ins></w:p>',
    );
    assert.deepEqual(await textOf('docx', bytes), ['new\n', [1]]);
  });

  test('a document with a password is a compound file with an encrypted package', async () => {
    const compound = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(504)]);
    assert.equal(await textOf('docx', compound), 'damaged');
    const locked = Buffer.concat([compound, Buffer.from('EncryptedPackage', 'utf16le')]);
    assert.equal(await textOf('docx', locked), 'encrypted');
  });

  test('what is no Word file is damaged', async () => {
    const whole = await docx(paragraph('some words'));
    const others = [Buffer.from('words'), await zip({ 'a.txt': 'b' }), await docx('<w:p><w:r>'), Buffer.alloc(0)];
    for (const bytes of others) assert.equal(await textOf('docx', bytes), 'damaged');
    for (let length = 10; length < whole.length; length += 100) {
      assert.equal(await textOf('docx', whole.subarray(0, length)), 'damaged', `${length} bytes`);
    }
  });
});

suite('documents: limits', () => {
  test('tables in tables, deeper than they can be followed, are too complex', async function () {
    this.timeout(60_000);
    const depth = 20_000;
    const nested = `${'<w:tbl><w:tr><w:tc>'.repeat(depth)}${paragraph('in')}${'</w:tc></w:tr></w:tbl>'.repeat(depth)}`;
    assert.equal(await textOf('docx', await docx(nested)), 'too complex');
  });

  test('an archive that says it unpacks to more than 200 MB is not unpacked', async function () {
    this.timeout(60_000);
    const bomb = await docx('', { 'word/document.xml': Buffer.alloc(201_000_000, ' ') });
    assert.ok(bomb.length < 1_000_000);
    assert.equal(await textOf('docx', bomb), 'too large');
  });

  test('one that lies about it ends its process, and the next document is read by another', async function () {
    this.timeout(60_000);
    const small = new DocumentReader({ mostMemory: 200_000_000 });
    const size = 200_000_000 - 1;
    const bomb = await docx('', { 'word/document.xml': Buffer.alloc(size, ' ') });
    assert.equal(await textOf('docx', withFalseSize(bomb, size), small), 'too complex');
    assert.deepEqual(await textOf('docx', await docx(paragraph('alive')), small), ['alive\n', [1]]);
  });

  test('a page that takes longer than a step may ends its process', async function () {
    this.timeout(60_000);
    const impatient = new DocumentReader({ mostStepMs: 150 });
    const long = Buffer.from(`BT /F1 12 Tf ${'(word) Tj 0 -1 Td '.repeat(2_000_000)} ET`);
    assert.equal(await textOf('pdf', pdfOf([long]), impatient), 'too complex');
  });

  test('cancelling ends it at once', async function () {
    this.timeout(60_000);
    const own = new DocumentReader();
    const bytes = pdfOf([Buffer.from(`BT /F1 12 Tf ${'(word) Tj 0 -1 Td '.repeat(2_000_000)} ET`)]);
    const stop = new AbortController();
    const reading = own.read('pdf', 'a', bytes, stop.signal);
    setTimeout(() => stop.abort(), 50);
    await assert.rejects(reading, { code: 'cancelled' });
    assert.deepEqual(await textOf('pdf', pdf([['next']]), own), ['next\n', [1]]);
  });

  test('without its process a document is unreadable, and nothing throws', async () => {
    const missing = new DocumentReader({ script: '/nowhere/documents-main.js' });
    assert.equal(await textOf('pdf', pdf([['words']]), missing), 'unreadable');
  });
});

suite('documents: places', () => {
  test('the unit a line belongs to, or the first and the last', () => {
    const places = { unit: 'page', firstLines: [1, 4, 4, 9] } as const;
    const name = (from: number, to = from): string => placeName(places, from, to);
    assert.equal(name(1), 'page 1');
    assert.equal(name(3), 'page 1');
    assert.equal(name(4), 'page 3', 'page 2 has no text');
    assert.equal(name(9, 12), 'page 4');
    assert.equal(name(2, 9), 'pages 1–4');
  });
});

const NUMBERING =
  '<w:numbering xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:abstractNum w:abstractNumId="0"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>';

/** The directory says 100 bytes of what has `size`. */
function withFalseSize(archive: Buffer, size: number): Buffer {
  const out = Buffer.from(archive);
  for (let at = 0; at + 46 < out.length; at++) {
    const isEntry = out.readUInt32LE(at) === 0x02014b50;
    if (isEntry && out.readUInt32LE(at + 24) === size) out.writeUInt32LE(100, at + 24);
  }
  return out;
}
