/**
 * The engine process: loads a model and serves calls in two lanes, one call of each at a time. Reading and composing wait
 * between chunks while anything else runs, so that a question never waits for a file. Hears cancellations between chunks
 * and tokens. Ends when its parent does. Never writes to stdout.
 */
import { codeOf, messageOf } from '../../base/index.js';
import type { ComposeOptions, Engine } from '../engine.js';
import { openEngine } from '../local-engine.js';
import type { ComposedState, PackedSlots } from '../slots.js';
import { runBelowNormal } from './below-normal.js';
import { ContentlessSender } from './contentless-once.js';
import type { CallMessage, CallName, ComposeBegin, EngineArguments, FromEngine, ToEngine } from './messages.js';
import { Pace } from './pace.js';
import { ArrivingArrays, sendArrays, takeApart } from './pieces.js';

const send = (message: FromEngine): void => {
  if (process.connected) process.send!(message);
};

const sent = (message: FromEngine): Promise<void> =>
  new Promise(resolve => {
    if (!process.connected) resolve();
    else process.send!(message, () => resolve());
  });

const arriving = new ArrivingArrays();

const BACKGROUND: ReadonlySet<CallName> = new Set([
  'read',
  'coarsen',
  'loss',
  'composeBegin',
  'composeAdd',
  'composeEnd',
]);

const cancelled = new Map<number, AbortController>();
const lanes = { foreground: Promise.resolve(), background: Promise.resolve() };
let waitingInForeground = 0;
let engine: Engine | undefined;

const contentless = new ContentlessSender();
const pace = new Pace();
/** Calls in the background whose callers know no share: somebody waits for them. */
let hurried = 0;

/** Lets messages that have arrived be handled before the next chunk blocks the thread, and goes after them. */
async function goLast(): Promise<void> {
  await new Promise<void>(resolve => setImmediate(resolve));
  while (waitingInForeground > 0) await lanes.foreground;
}

/** What a call awaits before each chunk. */
function wayOf({ cpuShare }: CallMessage, signal: AbortSignal): () => Promise<void> {
  if (cpuShare === undefined || cpuShare >= 100) return goLast;
  return async () => {
    pace.rest();
    await goLast();
    if (hurried === 0) await pace.goOn(cpuShare, signal);
    await goLast();
    pace.begin();
  };
}

process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole group; the parent decides when this process ends.
process.on('SIGINT', () => undefined);
process.on('message', (message: ToEngine) => {
  switch (message.kind) {
    case 'call': {
      const args = arriving.complete(message.id, message.args) as readonly unknown[];
      const controller = new AbortController();
      cancelled.set(message.id, controller);
      const lane = BACKGROUND.has(message.name) ? 'background' : 'foreground';
      const hurries = lane === 'background' && message.cpuShare === undefined;
      if (lane === 'foreground') waitingInForeground++;
      if (hurries) {
        hurried++;
        pace.hurry();
      }
      lanes[lane] = lanes[lane]
        .then(() => serve({ ...message, args }, controller.signal))
        .finally(() => {
          if (lane === 'foreground') waitingInForeground--;
          else pace.rest();
          if (hurries) hurried--;
        });
      break;
    }
    case 'arrays':
    case 'piece':
      arriving.receive(message);
      break;
    case 'cancel':
      cancelled.get(message.id)?.abort();
      break;
    case 'stop':
      process.exit(0);
  }
});

async function serve(call: CallMessage, signal: AbortSignal): Promise<void> {
  try {
    const value = await run(engine!, call, signal);
    const apart = takeApart(value);
    if (apart) await sendArrays(call.id, apart.arrays, sent);
    send({ kind: 'result', id: call.id, value: apart ? apart.value : value });
  } catch (error) {
    const code = signal.aborted ? 'cancelled' : codeOf(error);
    send({ kind: 'error', id: call.id, code, message: code === 'cancelled' ? 'Cancelled.' : messageOf(error) });
  } finally {
    cancelled.delete(call.id);
  }
}

function run(target: Engine, call: CallMessage, signal: AbortSignal): Promise<unknown> {
  const { id, name, args } = call;
  const options = { signal, onProgress: (tokens: number) => send({ kind: 'progress', id, tokens }) };
  const [first, second, third] = args as never[];
  switch (name) {
    case 'countTokens':
    case 'dropState':
    case 'dropRecall':
      return target[name](first!);
    case 'putState':
      return target.putState(first!, second!, third!);
    case 'putRecall':
      return target.putRecall(first!, second!);
    case 'patch':
      return target.patch(first!, second!, options);
    case 'read':
      return target.read(first!, { ...options, giveWay: wayOf(call, signal) });
    case 'coarsen':
      return target.coarsen(first!, second!, { ...options, giveWay: wayOf(call, signal) });
    case 'scoreRecall':
      return target.scoreRecall(first!, second!, options).then(scores => contentless.crossing(scores));
    case 'scoreSpans':
      return target.scoreSpans(first!, second!, third!, options);
    case 'queriesAt':
      return target.queriesAt(first!, second!, options);
    case 'loss':
      return target.loss(first!, { ...(second as unknown as object), ...options } as never);
    case 'lossAfter':
      return target.lossAfter(first!, second!, options);
    case 'generate':
      return target.generate(first!, { ...options, onText: text => send({ kind: 'text', id, text }) });
    case 'composeBegin':
      compositions.set(first!, new Composition(target, second!, wayOf(call, signal)));
      return Promise.resolve();
    case 'composeAdd':
      return compositionOf(first!).add(second!);
    case 'composeEnd': {
      const composition = compositionOf(first!);
      compositions.delete(first!);
      return composition.end();
    }
  }
}

/** A composition whose gists come by call: a queue of one between the calls and `Engine.compose`. */
class Composition {
  private readonly result: Promise<ComposedState>;
  private deliver: ((gist: PackedSlots | undefined) => void) | undefined;
  private wanted: Promise<PackedSlots | undefined>;
  private taken: (() => void) | undefined;

  constructor(target: Engine, begin: ComposeBegin, giveWay: () => Promise<void>) {
    this.wanted = this.next();
    this.result = target.compose(this.gists(), { ...begin, giveWay } satisfies ComposeOptions);
    // A failure is reported by the next add or by end.
    this.result.catch(() => undefined);
  }

  async add(gist: PackedSlots): Promise<void> {
    const taken = new Promise<void>(resolve => (this.taken = resolve));
    this.deliver!(gist);
    await Promise.race([taken, this.result]);
  }

  end(): Promise<ComposedState> {
    this.deliver!(undefined);
    return this.result;
  }

  private async *gists(): AsyncGenerator<PackedSlots> {
    for (;;) {
      const gist = await this.wanted;
      if (!gist) return;
      this.wanted = this.next();
      yield gist;
      this.taken?.();
    }
  }

  private next(): Promise<PackedSlots | undefined> {
    return new Promise(resolve => (this.deliver = resolve));
  }
}

const compositions = new Map<string, Composition>();

function compositionOf(id: string): Composition {
  const composition = compositions.get(id);
  if (!composition) throw new Error(`There is no composition "${id}".`);
  return composition;
}

try {
  const { modelFolder, belowNormal, ...options } = JSON.parse(process.argv[2] ?? '{}') as EngineArguments;
  if (belowNormal === true) runBelowNormal();
  engine = await openEngine(modelFolder, options);
  send({ kind: 'ready', model: engine.model });
} catch (error) {
  send({ kind: 'unusable', code: codeOf(error), message: messageOf(error) });
}
