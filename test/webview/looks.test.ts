/**
 * The panel in three themes and two widths: nothing sticks out, overlaps or is refused. With LONGVIEW_SCREENSHOTS=FOLDER it
 * also writes what it sees there (media/screenshots holds the last ones that were looked at).
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { answered, asked, box, recalling, start, summarized, summarizing } from './ask-samples.js';
import { PanelBrowser, chromiumPath, hasChromium } from './page.js';
import { themes, type Theme } from './themes.js';

const selection = { path: 'src/net/retry.ts', startLine: 12, endLine: 40 };
const folders = [
  { uri: 'file:///w/shop', label: 'shop — customers/shop' },
  { uri: 'file:///v/shop', label: 'shop — vendors/shop' },
];
const facts = ['99 MB to download from PyPI', '136 MB on disk', 'License: Apache-2.0'];

const pages = {
  answer: start({
    exchanges: [
      { ...answered, selection },
      { ...answered, id: 0, title: 'How are help texts formatted?' },
    ],
  }),
  reading: start({ box: { ...box, folders, selection }, exchanges: [{ ...asked, folder: folders[0]!.label }] }),
  writing: start({ exchanges: [{ ...recalling, phase: 'writing', blocks: answered.blocks.slice(0, 1) }] }),
  summarizing: start({ exchanges: [summarizing(2)] }),
  summary: start({ exchanges: [summarized, { ...answered, id: 1 }] }),
  failed: start({
    exchanges: [
      {
        ...asked,
        phase: 'failed',
        canAnswerNow: false,
        problem: 'The engine ended 4 times in 3 minutes. Try a smaller model, or look into the log.',
        remedies: ['askAgain', 'chooseModel', 'showLog'],
      },
    ],
  }),
  model: start({ box: { ...box, history: [], model: { kind: 'missing', name: 'SmolLM2 135M Instruct', facts } } }),
};

suite('looks of the panel', function () {
  this.timeout(60_000);
  let browser: PanelBrowser;
  suiteSetup(async function () {
    if (!hasChromium) {
      console.log(`    no Chromium at ${chromiumPath}: the panel is not looked at`);
      this.skip();
    }
    browser = await PanelBrowser.launch();
  });
  suiteTeardown(async () => {
    if (hasChromium) await browser.close();
  });

  for (const theme of Object.keys(themes) as Theme[]) {
    for (const width of [200, 420]) {
      test(`${theme}, ${width} pixels wide`, async () => {
        for (const [name, message] of Object.entries(pages)) {
          const panel = await browser.open('ask.js', { theme, width, height: 640 });
          await panel.post(message);
          await panel.post({ type: 'focus' });
          const folder = process.env.LONGVIEW_SCREENSHOTS;
          if (folder !== undefined) {
            await panel.page.screenshot({ path: join(folder, `ask-${name}-${theme}-${width}.png`), fullPage: true });
          }
          assert.deepEqual(await overlapping(panel.page), []);
          await panel.close();
        }
      });
    }
  }
});

/** Pairs of controls and lines of text that cover each other. */
function overlapping(page: { evaluate<T>(run: () => T): Promise<T> }): Promise<string[]> {
  return page.evaluate(() => {
    const shown = [
      ...document.querySelectorAll('button, select, textarea, h2, h3, .hint, .places li, .answer > *, .progress-text'),
    ]
      .filter(element => element.checkVisibility() && element.closest('details:not([open])') === null)
      .map(element => ({ element, box: element.getBoundingClientRect() }));
    const pairs: string[] = [];
    shown.forEach((one, at) => {
      for (const other of shown.slice(at + 1)) {
        if (one.element.contains(other.element) || other.element.contains(one.element)) continue;
        const across = Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left);
        const down = Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top);
        if (across > 1 && down > 1) pairs.push(`${one.element.textContent} / ${other.element.textContent}`);
      }
    });
    return pairs;
  });
}
