/**
 * A webview of the panel in a real Chromium, as VS Code shows it: the page of panel-html.ts with its policy, the built script
 * and style sheet, a fake `acquireVsCodeApi`, the theme's variables. Counts what the policy refused and what went to the
 * console as an error.
 */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { panelHtml } from '../../src/extension/panel-html.js';
import { themes, type Theme } from './themes.js';

export const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
export const hasChromium = existsSync(chromiumPath);

/** Never asked of a network: the test answers for it. */
const origin = 'https://panel.test';
const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', html: 'text/html' };

interface Editor {
  sent: unknown[];
  state: unknown;
}

export class PanelBrowser {
  private constructor(
    private readonly browser: Browser,
    private readonly files: string,
  ) {}

  static async launch(): Promise<PanelBrowser> {
    const files = mkdtempSync(join(tmpdir(), 'longview-webview-'));
    const bundle = (await import(pathToFileURL(join(process.cwd(), 'scripts', 'webview-bundle.mjs')).toString())) as {
      buildWebviews: (outdir: string) => Promise<unknown>;
    };
    await bundle.buildWebviews(files);
    const browser = await chromium.launch({ executablePath: chromiumPath, args: ['--no-sandbox', '--disable-gpu'] });
    return new PanelBrowser(browser, files);
  }

  /** `script`: a file of the bundle. `state`: what `getState` gives. */
  async open(
    script: string,
    { theme = 'dark', width = 320, height = 700, state, moves = false }: Partial<View> = {},
  ): Promise<PanelPage> {
    const context = await this.browser.newContext({
      viewport: { width, height },
      reducedMotion: moves ? 'no-preference' : 'reduce',
    });
    const page = await context.newPage();
    const problems: string[] = [];
    page.on('console', message => {
      if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text());
    });
    page.on('pageerror', error => problems.push(error.message));
    const html = panelHtml({
      title: 'Longview',
      language: 'en',
      source: origin,
      style: `${origin}/panel.css`,
      script: `${origin}/${script}`,
      nonce: 'a1b2',
    });
    await context.route('**/*', route => {
      const name = new URL(route.request().url()).pathname.slice(1);
      const known = name === '' || name === script || name === 'panel.css';
      if (!route.request().url().startsWith(`${origin}/`) || !known) {
        problems.push(`asked for ${route.request().url()}`);
        return route.abort();
      }
      const body = name === '' ? html : readFileSync(join(this.files, name), 'utf8');
      return route.fulfill({ body, contentType: `${types[name.split('.')[1] ?? 'html']!}; charset=utf-8` });
    });
    await page.addInitScript(
      ({ kept, variables, kind }) => {
        const fake: Editor = { sent: [], state: kept };
        Object.assign(window, {
          editor: fake,
          acquireVsCodeApi: () => ({
            postMessage: (message: unknown) => fake.sent.push(message),
            getState: () => fake.state,
            setState: (next: unknown) => (fake.state = next),
          }),
        });
        document.addEventListener('DOMContentLoaded', () => {
          for (const [name, value] of Object.entries(variables))
            document.documentElement.style.setProperty(name, value);
          document.body.classList.add(kind);
          document.body.style.backgroundColor = 'var(--vscode-sideBar-background)';
        });
        document.addEventListener('securitypolicyviolation', event =>
          console.error(`refused: ${event.violatedDirective} ${event.blockedURI}`),
        );
      },
      { kept: state, ...themes[theme] },
    );
    await page.goto(`${origin}/`);
    return new PanelPage(page, problems);
  }

  async close(): Promise<void> {
    await this.browser.close();
    rmSync(this.files, { recursive: true, force: true });
  }
}

interface View {
  readonly theme: Theme;
  readonly width: number;
  readonly height: number;
  readonly state: unknown;
  /** The user has nothing against motion. */
  readonly moves: boolean;
}

export class PanelPage {
  constructor(
    readonly page: Page,
    private readonly problems: readonly string[],
  ) {}

  /** A message of the extension, as VS Code delivers it: without what JSON leaves out. */
  async post(message: unknown): Promise<void> {
    await this.page.evaluate(json => window.postMessage(JSON.parse(json), '*'), JSON.stringify(message));
    // Messages are delivered in order: after this one's own round the first has been handled.
    await this.page.evaluate(() => new Promise<void>(done => setTimeout(() => requestAnimationFrame(() => done()))));
  }

  /** What the page has sent since the last call. */
  async sent(): Promise<unknown[]> {
    return this.page.evaluate(() => (window as unknown as { editor: Editor }).editor.sent.splice(0));
  }

  state(): Promise<unknown> {
    return this.page.evaluate(() => (window as unknown as { editor: Editor }).editor.state);
  }

  /** Nothing was refused by the policy, asked of a network, or complained about; nothing is wider than the page. */
  async close(): Promise<void> {
    const overflow = await this.page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    assert.deepEqual(this.problems, []);
    assert.equal(overflow, 0, 'the page scrolls sideways');
    await this.page.context().close();
  }
}
