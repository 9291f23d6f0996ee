/** The end of engine processes: `kill -9` and restarts, disposal, no orphans, models that can't be loaded. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openEngine, startEngine } from '../../src/engine/index.js';
import type { Engine, PackedSlots } from '../../src/engine/index.js';
import { FILES, MANIFEST_FORMAT, MANIFEST_FILE } from '../../src/engine/graph-contract.js';
import { begin, isGone, isRunning, kill, processOf, readOf } from './tiny-process.js';
import { openShared, sharedTextModel } from './tiny-shared.js';

suite('engine process', function () {
  this.timeout(60_000);
  let path: string;
  let here: Engine;
  suiteSetup(async () => {
    path = await sharedTextModel();
    here = await openShared();
  });

  suite('that is killed', () => {
    const log: string[] = [];
    let engine: Engine;
    setup(async () => {
      log.length = 0;
      engine = await startEngine({
        modelFolder: path,
        threads: 1,
        log: (level, message) => log.push(`${level}: ${message}`),
      });
    });
    teardown(() => engine.dispose());

    test('running and waiting calls fail; the next call works, in a later generation', async () => {
      const [reading, begun] = begin(engine);
      const waiting = readOf(engine);
      const failures = Promise.all([
        assert.rejects(reading, { code: 'engine-crashed', message: /SIGKILL/ }),
        assert.rejects(waiting, { code: 'engine-crashed' }),
      ]);
      await begun;
      await kill(engine);
      await failures;
      assert(
        log.some(line => line.startsWith('error') && line.includes('SIGKILL')),
        String(log),
      );
      assert.equal(engine.generation, 1);
      assert.deepEqual(await readOf(engine), await readOf(here));
      assert.equal(engine.generation, 2);
    });

    test('states and recall slots are gone with it', async () => {
      const reading = await readOf(here);
      await engine.putState('s', reading.gist, 4);
      await engine.putRecall('r', reading.recall);
      await kill(engine);
      await assert.rejects(engine.generate({ messages: [], maxTokens: 1, states: ['s'] }), { code: 'stale' });
      await assert.rejects(engine.scoreRecall('?', ['r']), { code: 'stale' });
    });

    test('a composition in progress fails, whether the death falls in a call or between two', async () => {
      const { gist } = await readOf(here);
      async function* dying(): AsyncGenerator<PackedSlots> {
        yield gist;
        await kill(engine);
        // Another caller has the engine started anew.
        await engine.countTokens('a');
        yield gist;
      }
      const options = { budget: 8, incoming: 2 * gist.slots };
      await assert.rejects(engine.compose(dying(), options), { code: 'engine-crashed' });
      assert.deepEqual(await engine.compose([gist, gist], options), await here.compose([gist, gist], options));
    });

    test('its model damaged meanwhile: the reason, until the model is there again', async () => {
      const own = mkdtempSync(join(tmpdir(), 'longview-own-'));
      cpSync(path, own, { recursive: true });
      const risky = await startEngine({ modelFolder: own, threads: 1 });
      const manifest = join(own, MANIFEST_FILE);
      renameSync(manifest, `${manifest}.away`);
      await kill(risky);
      await assert.rejects(risky.countTokens('abc'), { code: 'not-found' });
      renameSync(`${manifest}.away`, manifest);
      // At once: the process that found no model may not have ended yet.
      assert.equal(await risky.countTokens('abc'), 3);
      assert.deepEqual(await readOf(risky), await readOf(here));
      await risky.dispose();
      rmSync(own, { recursive: true });
    });

    test('again and again: more than 4 times in 3 minutes is too often; later it is tried again', async () => {
      for (let deaths = 1; deaths <= 4; deaths++) {
        await kill(engine);
        assert.equal(await engine.countTokens('abc'), 3, `after death ${deaths}`);
        assert.equal(engine.generation, deaths + 1);
      }
      await kill(engine);
      const refused = { code: 'engine-crashed', message: /again and again/ };
      await assert.rejects(engine.countTokens('abc'), refused);
      await assert.rejects(readOf(engine), refused);
      const { now } = Date;
      try {
        Date.now = () => now() + 3 * 60_000 + 1;
        assert.equal(await engine.countTokens('abc'), 3);
      } finally {
        Date.now = now;
      }
    });
  });

  suite('that ends', () => {
    test('disposed: the process is gone, calls are refused, a second time does nothing', async () => {
      const engine = await startEngine({ modelFolder: path, threads: 1 });
      const pid = processOf(engine).pid!;
      assert(isRunning(pid));
      await engine.dispose();
      assert(!isRunning(pid));
      await assert.rejects(engine.countTokens('a'), { code: 'engine-crashed', message: /closed/ });
      await engine.dispose();
    });

    test('disposed while it works: gone within seconds', async () => {
      const engine = await startEngine({ modelFolder: path, threads: 1 });
      const pid = processOf(engine).pid!;
      const [reading, begun] = begin(engine);
      const failure = assert.rejects(reading, { code: 'engine-crashed' });
      await begun;
      await engine.dispose();
      assert(!isRunning(pid));
      await failure;
    });

    test('its parent killed while it works: no orphan', async () => {
      const script = fileURLToPath(new URL('./engine-parent.js', import.meta.url));
      const parent = spawn(process.execPath, [script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
      const [line] = (await once(parent.stdout, 'data')) as [Buffer];
      const pid = Number(line.toString());
      assert(isRunning(pid));
      parent.kill('SIGKILL');
      assert(await isGone(pid), `process ${pid} outlived its parent`);
    });
  });

  suite('on a damaged model', () => {
    let broken: string;
    setup(() => {
      broken = mkdtempSync(join(tmpdir(), 'longview-broken-'));
      cpSync(path, broken, { recursive: true });
    });
    teardown(() => rmSync(broken, { recursive: true, force: true }));
    const open = (folder = broken) => openEngine(folder, { threads: 1 });
    const start = () => startEngine({ modelFolder: broken, threads: 1 });

    test('a file cut short or missing: which, and what to do', async () => {
      truncateSync(join(broken, FILES.weights), 5000);
      const short = { code: 'bad-format', message: /weights\.bin: 5000 bytes.*longview model remove/ };
      await assert.rejects(start(), short);
      await assert.rejects(open(), short);
      rmSync(join(broken, FILES.weights));
      await assert.rejects(open(), { code: 'bad-format', message: /weights\.bin: missing/ });
    });

    test('a graph of the right size that is none', async () => {
      const graph = join(broken, FILES.decode);
      writeFileSync(graph, new Uint8Array(readFileSync(graph).length).fill(7));
      await assert.rejects(start(), { code: 'bad-format', message: /decode\.onnx: it was changed/ });
    });

    test('no manifest, a manifest of a later format, no folder', async () => {
      const manifest = join(broken, MANIFEST_FILE);
      const text = readFileSync(manifest, 'utf8');
      const later = MANIFEST_FORMAT + 1;
      writeFileSync(manifest, text.replace(`"format": ${MANIFEST_FORMAT}`, `"format": ${later}`));
      await assert.rejects(open(), { code: 'bad-format', message: new RegExp(`format ${later}`) });
      writeFileSync(manifest, text.slice(0, 200));
      await assert.rejects(open(), { code: 'not-found', message: /longview model add/ });
      rmSync(manifest);
      await assert.rejects(start(), { code: 'not-found' });
      await assert.rejects(open(join(broken, 'nowhere')), { code: 'not-found' });
    });

    test('a tokenizer that is none: one line, and no process stays', async () => {
      const children = () => process.getActiveResourcesInfo().filter(name => name === 'ProcessWrap').length;
      const before = children();
      const tokenizer = join(broken, FILES.tokenizer);
      writeFileSync(tokenizer, 'x'.repeat(readFileSync(tokenizer).length));
      await assert.rejects(start(), { code: 'bad-format', message: /tokenizer\.json: it was changed/ });
      for (let tries = 0; tries < 100 && children() > before; tries++) await delay(50);
      assert.equal(children(), before);
    });
  });
});
