/**
 * The engine in a process of its own: the results of the one in this process, streaming, cancellation, death by
 * `kill -9`, restarts, and that no process is left behind.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openEngine, startEngine } from '../../src/engine/index.js';
import type { ChatMessage, Engine, PackedSlots, Reading } from '../../src/engine/index.js';
import { FILES, MANIFEST_FILE } from '../../src/engine/graph-contract.js';
import { openShared, sharedTextModel } from './tiny-shared.js';

const code = 'export function add(a: number, b: number) {\n  return a + b;\n}\n';
const messages: ChatMessage[] = [{ role: 'user', content: 'What does this do?' }];

/** Not part of `Engine`: tests kill it. */
function processOf(engine: Engine): ChildProcess {
  return (engine as unknown as { child: ChildProcess }).child;
}

async function kill(engine: Engine): Promise<void> {
  const child = processOf(engine);
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Whether a process is there; one that ended but was not waited for by its parent is not. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z /.test(readFileSync(stat, 'utf8'));
}

async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 100 && isRunning(pid); tries++) await delay(50);
  return !isRunning(pid);
}

suite('engine process', function () {
  this.timeout(60_000);
  let path: string;
  let here: Engine;
  let there: Engine;
  suiteSetup(async () => {
    path = await sharedTextModel();
    here = await openShared();
    there = await startEngine({ modelFolder: path, threads: 1 });
  });
  suiteTeardown(() => there.dispose());

  const readOf = (engine: Engine, text = code) => engine.read({ label: 'a.ts', text, tokensPerRecallSlot: 4 });

  test('describes the model as the one in this process does', () => {
    assert.deepEqual(there.model, here.model);
    assert.equal(there.generation, 1);
  });

  test('reads, counts, scores and measures the same, bit for bit', async () => {
    assert.equal(await there.countTokens(code), code.length);
    const reading = await readOf(there);
    assert.deepEqual(reading, await readOf(here));
    assert(reading.gist.keys instanceof Int8Array && reading.lineOfToken instanceof Uint32Array);
    for (const engine of [here, there]) await engine.putRecall('a', reading.recall);
    assert.deepEqual(await there.scoreRecall('add?', ['a']), await here.scoreRecall('add?', ['a']));
    const options = { schedule: { kind: 'even', slots: 20, tokens: 60 }, from: 10, limit: 60 } as const;
    assert.deepEqual(await there.loss(code, options), await here.loss(code, options));
  });

  test('composes the same', async () => {
    const gists: PackedSlots[] = [];
    for (const text of [code, 'two', code + code]) gists.push((await readOf(here, text)).gist);
    const incoming = gists.reduce((sum, { slots }) => sum + slots, 0);
    const options = { budget: 21, incoming };
    const done: number[] = [];
    const composed = await there.compose(gists, { ...options, onProgress: slots => done.push(slots) });
    assert.deepEqual(composed, await here.compose(gists, options));
    assert.deepEqual(done, [16, 16 + gists[1]!.slots, incoming]);
    async function* later(): AsyncGenerator<PackedSlots> {
      for (const gist of gists) {
        await delay(1);
        yield gist;
      }
    }
    assert.deepEqual(await there.compose(later(), options), composed);
    assert.equal((await there.compose([], options)).slots, 0);
  });

  test('two compositions at once, and calls between their gists, do not mix', async () => {
    const gists = [(await readOf(here)).gist, (await readOf(here, 'another text')).gist];
    const turned = [...gists].reverse();
    const incoming = gists[0]!.slots + gists[1]!.slots;
    async function* reading(): AsyncGenerator<PackedSlots> {
      for (const gist of gists) {
        await there.countTokens('between');
        yield gist;
      }
    }
    const both = await Promise.all([
      there.compose(reading(), { budget: 9, incoming }),
      there.compose(turned, { budget: 12, incoming }),
    ]);
    assert.deepEqual(both[0], await here.compose(gists, { budget: 9, incoming }));
    assert.deepEqual(both[1], await here.compose(turned, { budget: 12, incoming }));
  });

  test('a composition that fails, is cancelled or loses its gists leaves the engine usable', async () => {
    const { gist } = await readOf(here);
    const options = { budget: 8, incoming: 2 * gist.slots };
    await assert.rejects(there.compose([{ ...gist, groups: 1 }], options), { code: 'bad-format' });
    const controller = new AbortController();
    const cancelled = { ...options, signal: controller.signal, onProgress: () => controller.abort() };
    await assert.rejects(there.compose([gist, gist], cancelled), { code: 'cancelled' });
    // eslint-disable-next-line @typescript-eslint/require-await -- what the memory gives is asynchronous
    async function* broken(): AsyncGenerator<PackedSlots> {
      yield gist;
      throw new Error('a bad page');
    }
    await assert.rejects(there.compose(broken(), options), { message: 'a bad page' });
    assert.deepEqual(await there.compose([gist, gist], options), await here.compose([gist, gist], options));
  });

  test('writes the same, streamed', async () => {
    const { gist } = await readOf(here);
    for (const engine of [here, there]) await engine.putState('s', gist, 4);
    const request = {
      messages,
      maxTokens: 40,
      temperature: 0.8,
      topP: 0.9,
      seed: 4,
      states: ['s'],
      answerPrefix: 'It',
    };
    const pieces: string[] = [];
    const progress: number[] = [];
    const result = await there.generate(request, {
      onText: piece => pieces.push(piece),
      onProgress: tokens => progress.push(tokens),
    });
    const expected = await here.generate(request);
    const { text, promptTokens, writtenTokens, stopReason } = expected;
    assert.deepEqual({ ...expected, ...result }, { ...result, text, promptTokens, writtenTokens, stopReason });
    assert.equal(pieces.join(''), text);
    assert(pieces.length > 10);
    assert.equal(progress.at(-1), promptTokens);
  });

  test('errors keep their code and message', async () => {
    await assert.rejects(there.generate({ messages, maxTokens: 1, states: ['nowhere'] }), {
      name: 'LongviewError',
      code: 'stale',
      message: 'State "nowhere" is not in the engine; put it there first.',
    });
    await assert.rejects(there.scoreRecall('?', ['nowhere']), { code: 'stale' });
    await there.putState('gone', (await readOf(here)).gist, 4);
    await there.dropState('gone');
    await assert.rejects(there.generate({ messages, maxTokens: 1, states: ['gone'] }), { code: 'stale' });
  });

  const long = code.repeat(20);
  /** Takes seconds; never read to its end. */
  const endless = code.repeat(400);

  /** A reading, and when its first chunk was read. */
  function begin(engine: Engine): [reading: Promise<Reading>, begun: Promise<void>] {
    let onProgress = (): void => undefined;
    const begun = new Promise<void>(resolve => (onProgress = resolve));
    const request = { label: 'long.ts', text: endless, tokensPerRecallSlot: 4 };
    return [engine.read(request, { onProgress: () => onProgress() }), begun];
  }

  test('a running read is cancelled between chunks; calls behind it are served', async () => {
    const controller = new AbortController();
    const done: number[] = [];
    const reading = there.read(
      { label: 'long.ts', text: endless, tokensPerRecallSlot: 4 },
      {
        signal: controller.signal,
        onProgress: tokens => {
          done.push(tokens);
          controller.abort();
        },
      },
    );
    const behind = readOf(there);
    await assert.rejects(reading, { code: 'cancelled' });
    assert(done.at(-1)! < endless.length / 2, `went on to ${done.at(-1)!} of ${endless.length} tokens`);
    assert.deepEqual(await behind, await readOf(here));
  });

  test('a call that waits is cancelled too; one cancelled before is never sent', async () => {
    const controller = new AbortController();
    const first = readOf(there, long);
    const waiting = there.read({ label: 'b', text: long, tokensPerRecallSlot: 4 }, { signal: controller.signal });
    controller.abort();
    await assert.rejects(waiting, { code: 'cancelled' });
    assert((await first).tokens > long.length);
    const late = { signal: AbortSignal.abort() };
    await assert.rejects(there.read({ label: 'b', text: code, tokensPerRecallSlot: 4 }, late), { code: 'cancelled' });
  });

  test('a running answer is cancelled and gives what was written', async () => {
    const controller = new AbortController();
    let given = '';
    const request = { messages, maxTokens: 5000, temperature: 1, seed: 2, repetitionPenalty: 1 };
    const result = await there.generate(request, {
      signal: controller.signal,
      onText: piece => {
        given += piece;
        if (given.length > 10) controller.abort();
      },
    });
    assert.deepEqual([result.stopReason, result.text], ['cancelled', given]);
    assert(result.writtenTokens < 1000, `${result.writtenTokens} tokens`);
    const before = await there.generate(request, { signal: AbortSignal.abort() });
    assert.deepEqual([before.stopReason, before.text], ['cancelled', '']);
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
      const waiting = engine.countTokens('a');
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
      await assert.rejects(engine.generate({ messages, maxTokens: 1, states: ['s'] }), { code: 'stale' });
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

    test('its parent killed: no orphan', async () => {
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
      await assert.rejects(start(), { code: 'bad-format', message: /decode\.onnx can't be loaded/ });
    });

    test('no manifest, a manifest of a later format, no folder', async () => {
      const manifest = join(broken, MANIFEST_FILE);
      const text = readFileSync(manifest, 'utf8');
      writeFileSync(manifest, text.replace('"format": 1', '"format": 2'));
      await assert.rejects(open(), { code: 'bad-format', message: /format 2/ });
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
      await assert.rejects(start(), { code: 'bad-format', message: /no usable tokenizer\.json/ });
      for (let tries = 0; tries < 100 && children() > before; tries++) await delay(50);
      assert.equal(children(), before);
    });
  });
});
