/** Documents in a workspace: recalled and cited with their places, skipped with their reasons, read again where their text changes. */
import assert from 'node:assert/strict';
import { ask, summarize } from '../../src/assist/index.js';
import { fileMemoryKey } from '../../src/memory/store/index.js';
import { DEFAULT_SETTINGS, readingSettings } from '../../src/memory/settings.js';
import { docx, heading, notebook, paragraph, pdf } from './document-samples.js';
import { FakeEngine } from './fake-engine.js';
import { Folder } from './folder.js';

suite('documents in a workspace', function () {
  this.timeout(30_000);
  let folder: Folder;
  setup(async () => {
    folder = await Folder.of({ 'notes.md': '# Notes\n\nNothing about whales.\n' });
    const full = Array.from({ length: 40 }, (_, at) => `Line ${at + 1} of the introduction to the ice.`);
    await folder.write('manual.pdf', pdf([full, undefined, full, ['The walrus sleeps', 'on the ice']]));
    await folder.write('report.docx', await docx(heading('Report', 1) + paragraph('An ocelot was seen.')));
    await folder.write(
      'study.ipynb',
      notebook([
        { kind: 'markdown', source: '# Study' },
        { kind: 'code', source: 'pangolin = 3', outputs: [{ data: { 'image/png': 'aGlkZGVu' } }] },
      ]),
    );
    await folder.write('scan.pdf', pdf([undefined]));
    await folder.write('broken.pdf', '%PDF-1.7\nnothing');
    await folder.write(
      'locked.docx',
      Buffer.from(`d0cf11e0a1b11ae1${Buffer.from('EncryptedPackage', 'utf16le').toString('hex')}`, 'hex'),
    );
  });
  teardown(() => folder.dispose());

  test('recall gives the exact lines of the text, and the page, the paragraph or the cell', async () => {
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    const best = async (question: string): Promise<unknown[]> => {
      const [span] = await memory.recall(question, { limit: 1 });
      return [span?.path, span?.place, span?.text.includes(question)];
    };
    // A paragraph of two lines comes with what is before it.
    assert.deepEqual(await best('walrus'), ['manual.pdf', 'pages 3–4', true]);
    assert.deepEqual(await best('ocelot'), ['report.docx', 'paragraphs 1–2', true]);
    assert.deepEqual(await best('pangolin'), ['study.ipynb', 'cells 1–2', true]);
    assert.deepEqual(await best('whales'), ['notes.md', undefined, true]);
  });

  test('the ledger has the reasons of those that have no text, and what one has not', async () => {
    const memory = await folder.memory(new FakeEngine());
    await memory.refresh();
    const told = memory.files().map(({ path, state, reason }) => [path, state, reason]);
    assert.deepEqual(told, [
      ['broken.pdf', 'skipped', 'damaged'],
      ['locked.docx', 'skipped', 'encrypted'],
      ['manual.pdf', 'read', 'no text on page 2 of 4'],
      ['notes.md', 'read', undefined],
      ['report.docx', 'read', undefined],
      ['scan.pdf', 'skipped', 'no text'],
      ['study.ipynb', 'read', undefined],
    ]);
    assert.deepEqual(memory.coverage(), { total: 7, read: 4, stale: 0, waiting: 0, coarse: 0, skipped: 3, partly: 1 });
    assert.deepEqual(memory.status().skipped, { damaged: 1, encrypted: 1, 'no text': 1 });
    // A new time with the same bytes changes nothing of that.
    await folder.touch('manual.pdf');
    await memory.refresh();
    assert.equal(memory.file('manual.pdf')?.reason, 'no text on page 2 of 4');
  });

  test('citations count the lines of the text and name the place; the answer says what was left out', async () => {
    const engine = new FakeEngine();
    const memory = await folder.memory(engine);
    // `manual.pdf` has 84 lines: 40 of page 1, a blank one, 40 of page 3, a blank one, two of page 4.
    engine.answer = 'It sleeps (manual.pdf:83-84), not (manual.pdf:90).';
    const result = await ask({ memory, engine, question: 'Where does the walrus sleep?' });
    const [text, coverage] = result.answer.split('\n\n');
    assert.equal(text, 'It sleeps (`manual.pdf:83-84` (page 4)), not (~~manual.pdf:90~~ (the file has 84 lines)).');
    assert.equal(coverage, '4 of 7 files read (1 of them in part), 0 stale, 3 skipped');
    assert.deepEqual(result.citations[0], {
      path: 'manual.pdf',
      startLine: 83,
      endLine: 84,
      place: 'page 4',
      ok: true,
    });
    assert.equal(result.recalled[0]?.place, 'pages 3–4');
  });

  test('a summary names the places and what it cannot be about', async () => {
    const engine = new FakeEngine();
    const memory = await folder.memory(engine);
    const target = { kind: 'file', path: 'report.docx' } as const;
    const [sentence] = (await summarize({ memory, engine, target })).summary;
    assert.match(sentence?.places[0]?.place ?? '', /^paragraphs? 1/);
    const { notes } = await summarize({ memory, engine, target: { kind: 'workspace' } });
    assert.deepEqual(notes, [
      'Not read: 1 damaged, 1 encrypted, 1 no text. Read in part: `manual.pdf` (no text on page 2 of 4).',
    ]);
  });

  test('nothing is read again after a restart, and a memory by another version of the text is not used', async () => {
    const engine = new FakeEngine();
    await (await folder.memory(engine)).refresh();
    assert.equal(engine.reads.length, 4);
    const again = await folder.memory(engine);
    assert.equal((await again.refresh()).filesRead, 0);
    await again.dispose();
    // The row as a version before would have left it.
    const store = await folder.store();
    const row = store.ledger.get('manual.pdf')!;
    const settings = `${readingSettings(DEFAULT_SETTINGS, 'manual.pdf')}-before`;
    const key = fileMemoryKey({ path: row.path, contentHash: row.contentHash, model: 'fake-1', settings });
    const memory = store.getMemory(row.parts![0]!.key)!;
    assert.ok(memory.ok);
    await store.batch(write => {
      write.putMemory(key, memory.value);
      write.putRow({ ...row, parts: [{ ...row.parts![0]!, key }] });
    });
    engine.reads.length = 0;
    const later = await folder.memory(engine);
    await later.refresh();
    assert.equal(later.file('manual.pdf')?.state, 'read');
    assert.notEqual(store.ledger.get('manual.pdf')?.parts?.[0]?.key, key);
  });
});
