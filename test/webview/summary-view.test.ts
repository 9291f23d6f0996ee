/** A summary in the Ask view in a real Chromium: by keyboard, for a screen reader, while sentences come. */
import assert from 'node:assert/strict';
import type { ExchangeView } from '../../src/protocol/index.js';
import { start, summarized, summarizing } from './ask-samples.js';
import { PanelBrowser, chromiumPath, hasChromium, type PanelPage } from './page.js';

suite('summary in the ask view in Chromium', function () {
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

  async function opened(): Promise<PanelPage> {
    const panel = await browser.open('ask.js');
    await panel.sent();
    await panel.post(start());
    return panel;
  }
  const change = (exchange: ExchangeView): object => ({ type: 'exchange', exchange, blocksFrom: 0 });

  test('a summary by keyboard: its heading takes the focus; what has it keeps it while sentences come; Stop, Copy, document', async () => {
    const panel = await opened();
    const { page } = panel;
    await panel.post({ type: 'exchanges', exchanges: [summarizing(0)] });
    await panel.post({ type: 'focusExchange', id: 2 });
    const focused = (): Promise<string | null | undefined> => page.evaluate(() => document.activeElement?.textContent);
    assert.equal(await focused(), 'Summary of src/net/retry.ts');
    assert.ok(await page.getByText('Summarizing · src/net/retry.ts').isVisible());
    await panel.post(change(summarizing(1)));
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'src/net/retry.ts:12-40');
    await page.evaluate(() => document.activeElement!.setAttribute('id', 'kept'));
    const top = (): Promise<number> =>
      page.evaluate(() => document.querySelector('#kept')!.getBoundingClientRect().top);
    const before = await top();
    await panel.post(change(summarizing(2)));
    assert.equal(await page.getByRole('group', { name: 'Summary' }).getByRole('listitem').count(), 2);
    assert.equal(await focused(), 'src/net/retry.ts:12-40');
    assert.equal(await top(), before);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Open as Document' }).click();
    await page.getByRole('button', { name: 'Stop' }).click();
    assert.deepEqual(await panel.sent(), [
      { type: 'open', id: 2, place: { path: 'src/net/retry.ts', startLine: 12, endLine: 40 } },
      { type: 'openDocument', id: 2 },
      { type: 'stop' },
    ]);
    await panel.post(
      change({ ...summarizing(2), phase: 'stopped', problem: 'Stopped.', remedies: ['summarizeAgain'] }),
    );
    assert.equal(await top(), before);
    await page.getByRole('button', { name: 'Summarize Again' }).click();
    await page.getByRole('button', { name: 'Copy' }).click();
    assert.deepEqual(await panel.sent(), [
      { type: 'remedy', id: 2, remedy: 'summarizeAgain' },
      { type: 'copy', id: 2 },
    ]);
    await panel.close();
  });

  test('a screen reader hears each sentence of a summary once, and what it rests on', async () => {
    const panel = await opened();
    const heard = (): Promise<string[]> => panel.page.locator('[role=status] p').allTextContents();
    await panel.post({ type: 'exchanges', exchanges: [summarizing(0)] });
    await panel.post(change(summarizing(1)));
    await panel.page.waitForFunction(() => document.querySelectorAll('[role=status] p').length === 2);
    await panel.post(change(summarized));
    const [begun, first, rest, end] = await heard();
    assert.equal(begun, 'Summarizing');
    assert.match(first!, /^A connection .* \(src\/net\/retry\.ts:12-40\)$/);
    assert.match(rest!, /^The waiting times .*\n“Never tries again .*\)$/);
    assert.equal(end, `The summary is complete. ${summarized.coverage}`);
    await panel.close();
  });
});
