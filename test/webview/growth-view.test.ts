/** The Growth view in a real Chromium: the chart is drawn inside its frame and said in words; hostile names stay text. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { growthChart } from '../../src/extension/growth.js';
import { PanelBrowser, chromiumPath, hasChromium } from './page.js';
import { themes, type Theme } from './themes.js';

const t = (message: string, ...filled: (string | number)[]): string =>
  message.replace(/\{(\d)\}/g, (_, at: string) => String(filled[Number(at)]));
const points = Array.from({ length: 40 }, (_, at) => {
  const tokens = (at + 1) * 5000;
  return { tokens, stateSlots: Math.round(Math.sqrt(tokens) / 2), recallSlots: tokens / 4 };
});
const charts = [growthChart(points, 'shop', t), growthChart([], '<b onclick=alert(1)>empty</b>', t)];

suite('growth view in Chromium', function () {
  this.timeout(60_000);
  let browser: PanelBrowser;
  suiteSetup(async function () {
    if (!hasChromium) {
      console.log(`    no Chromium at ${chromiumPath}: the chart is not tested`);
      this.skip();
    }
    browser = await PanelBrowser.launch();
  });
  suiteTeardown(async () => {
    if (hasChromium) await browser.close();
  });

  for (const theme of Object.keys(themes) as Theme[]) {
    test(`${theme}: drawn inside the frame, named for a screen reader`, async () => {
      const panel = await browser.open('growth.js', { theme, width: theme === 'light' ? 420 : 200, height: 320 });
      const { page } = panel;
      assert.deepEqual(await panel.sent(), [{ type: 'ready' }]);
      await panel.post({ type: 'growth', charts });
      const words = '200,000 tokens are kept in 224 slots of state and 50,000 slots for recall.';
      assert.equal(await page.getByRole('img', { name: words }).count(), 1);
      assert.deepEqual(await page.getByRole('listitem').allTextContents(), [
        'State: 224 slots',
        'Recall: 50,000 slots',
      ]);
      assert.ok(await page.getByText('<b onclick=alert(1)>empty</b>').isVisible());
      const outside = await page.evaluate(() => {
        const frame = document.querySelector('figure > svg')!.getBoundingClientRect();
        return [...document.querySelectorAll('figure > svg polyline')].filter(line => {
          const box = line.getBoundingClientRect();
          return box.left < frame.left || box.right > frame.right || box.top < frame.top || box.bottom > frame.bottom;
        }).length;
      });
      assert.equal(outside, 0);
      const folder = process.env.LONGVIEW_SCREENSHOTS;
      if (folder !== undefined) await page.screenshot({ path: join(folder, `growth-${theme}.png`), fullPage: true });
      await panel.close();
    });
  }
});
