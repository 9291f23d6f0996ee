/**
 * Starts the engine process and speaks to it as an `Engine`. When the process dies, the calls in it fail with
 * `engine-crashed` and the next call starts a new one: at most 4 times in 3 minutes (architecture.md). States and recall
 * slots die with it; `generation` tells holders of such ids that they must put them again.
 */
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { LongviewError, codeOf, messageOf, silentLog, throwIfCancelled } from '../../base/index.js';
import type { Log, LogLevel } from '../../base/index.js';
import type {
  CallOptions,
  ComposeOptions,
  Engine,
  GenerateRequest,
  GenerateResult,
  LossOptions,
  ModelDescription,
  ProviderChoice,
  ReadRequest,
  RecallScores,
  SpanScores,
  SpanShares,
  StateChange,
} from '../engine.js';
import type { CoarseRecall, ComposedState, PackedSlots, Reading, RecallSlots, StateSlots } from '../slots.js';
import { isAccelerator } from '../providers.js';
import { automaticThreads } from '../threads.js';
import { chooseApart, forgetOutcome } from './choose-apart.js';
import { ContentlessReceiver } from './contentless-once.js';
import type { CrossingScores } from './contentless-once.js';
import { crashed } from './crashed.js';
import type { CallMessage, CallName, EngineArguments, FromEngine, ToEngine } from './messages.js';
import { ArrivingArrays, sendArrays, takeApart } from './pieces.js';

export interface StartOptions {
  readonly modelFolder: string;
  /** Default: `automaticThreads`. */
  readonly threads?: number;
  readonly provider?: string;
  /** Lets what else runs on the machine, the parent above all, have the processor first. Default false. */
  readonly belowNormal?: boolean;
  /** File of the outcomes of providers' probes; without it none is made, and `auto` is the CPU. */
  readonly probes?: string;
  readonly log?: Log;
  /** The engine process's script, where it does not lie beside this one (a bundle). */
  readonly script?: string;
  /** Ends the start: the process is gone at once, and `startEngine` throws. Means nothing after it. */
  readonly signal?: AbortSignal;
}

const RESTARTS = 4;
const RESTART_WINDOW_MS = 3 * 60_000;
const CORES = availableParallelism();

/** Starts the process and waits until its model is loaded. Throws what loading throws. */
export async function startEngine(options: StartOptions): Promise<Engine> {
  const { signal } = options;
  throwIfCancelled(signal);
  const engine = new EngineProcess(options);
  const abandon = (): void => engine.abandon();
  signal?.addEventListener('abort', abandon, { once: true });
  try {
    await engine.ready();
    return engine;
  } catch (error) {
    throwIfCancelled(signal);
    throw error;
  } finally {
    signal?.removeEventListener('abort', abandon);
  }
}

interface Pending {
  readonly resolve: (value: never) => void;
  readonly reject: (error: Error) => void;
  readonly onProgress?: (tokens: number) => void;
  readonly onText?: (text: string) => void;
}

class EngineProcess implements Engine {
  generation = 0;
  private description: ModelDescription | undefined;
  private child: ChildProcess | undefined;
  private starting: Promise<void> | undefined;
  private readonly pending = new Map<number, Pending>();
  private readonly arriving = new ArrivingArrays();
  private contentless = new ContentlessReceiver();
  private readonly starts: number[] = [];
  private nextId = 1;
  private nextComposition = 1;
  private disposed = false;
  /** Why the provider that was asked for is not used any more. */
  private providerFailure: string | undefined;
  private choice: ProviderChoice | undefined;

  constructor(private readonly options: StartOptions) {}

  get model(): ModelDescription {
    return this.description!;
  }

  /** Resolves when a process with the model loaded is there. */
  ready(): Promise<void> {
    if (!this.starting) {
      const starting = this.start().catch((error: unknown) => {
        // The next call tries again.
        if (this.starting === starting) this.starting = undefined;
        throw error;
      });
      this.starting = starting;
    }
    return this.starting;
  }

  countTokens(text: string): Promise<number> {
    return this.call('countTokens', [text]);
  }

  read(request: ReadRequest, options?: CallOptions): Promise<Reading> {
    return this.call('read', [request], options);
  }

  async compose(
    gists: Iterable<PackedSlots> | AsyncIterable<PackedSlots>,
    options: ComposeOptions,
  ): Promise<ComposedState> {
    const id = `compose ${this.nextComposition++}`;
    const { budget, incoming, cpuShare } = options;
    await this.call('composeBegin', [id, { budget, incoming }], options);
    const generation = this.generation;
    const mustLive = (): void => {
      if (!this.child || this.generation !== generation) throw crashed('while a state was composed');
    };
    let done = 0;
    try {
      for await (const gist of gists) {
        throwIfCancelled(options.signal);
        mustLive();
        await this.call('composeAdd', [id, gist], { cpuShare });
        done += gist.slots;
        options.onProgress?.(done);
      }
      mustLive();
    } catch (error) {
      if (this.child && this.generation === generation) await this.call('composeEnd', [id]).catch(() => undefined);
      throw error;
    }
    return this.call('composeEnd', [id], { cpuShare });
  }

  patch(state: StateSlots, change: StateChange, options?: CallOptions): Promise<ComposedState> {
    return this.call('patch', [state, change], options);
  }

  putState(id: string, slots: PackedSlots<Int8Array | Int16Array>, tokensPerSlot: number): Promise<void> {
    return this.call('putState', [id, slots, tokensPerSlot]);
  }

  dropState(id: string): Promise<void> {
    return this.call('dropState', [id]);
  }

  coarsen(slots: RecallSlots, slotsPerSlot: number, options?: CallOptions): Promise<CoarseRecall> {
    return this.call('coarsen', [slots, slotsPerSlot], options);
  }

  putRecall(id: string, slots: RecallSlots): Promise<void> {
    return this.call('putRecall', [id, slots]);
  }

  dropRecall(id: string): Promise<void> {
    return this.call('dropRecall', [id]);
  }

  scoreRecall(question: string, ids: readonly string[], options?: CallOptions): Promise<RecallScores> {
    const crossed = this.call<CrossingScores>('scoreRecall', [question, ids], options);
    return crossed.then(scores => this.contentless.complete(scores));
  }

  scoreSpans(question: string, ids: readonly string[], spans: SpanShares, options?: CallOptions): Promise<SpanScores> {
    return this.call('scoreSpans', [question, ids, spans], options);
  }

  queriesAt(text: string, tokens: number, options?: CallOptions): Promise<Float32Array> {
    return this.call('queriesAt', [text, tokens], options);
  }

  generate(
    request: GenerateRequest,
    options?: CallOptions & { onText?: (text: string) => void },
  ): Promise<GenerateResult> {
    return this.call('generate', [request], options);
  }

  loss(text: string, options: LossOptions): Promise<{ loss: number; tokens: number }> {
    const { signal, onProgress, ...plain } = options;
    return this.call('loss', [text, plain], { signal, onProgress });
  }

  lossAfter(texts: readonly string[], continuation: string, options?: CallOptions): Promise<Float32Array> {
    return this.call('lossAfter', [texts, continuation], options);
  }

  /** While it loads it hears nothing, and there is nothing to lose. */
  abandon(): void {
    this.disposed = true;
    this.child?.kill('SIGKILL');
  }

  async dispose(): Promise<void> {
    this.disposed = true;
    const child = this.child;
    if (!child) return;
    const gone = new Promise<void>(resolve => child.once('exit', () => resolve()));
    if (child.connected) child.send({ kind: 'stop' } satisfies ToEngine);
    const late = setTimeout(() => child.kill('SIGKILL'), 2000);
    await gone;
    clearTimeout(late);
  }

  private async call<T>(
    name: CallName,
    args: readonly unknown[],
    options: CallOptions & { onText?: (text: string) => void } = {},
  ): Promise<T> {
    // A cancelled answer resolves (engine.ts), so it is the engine that ends it.
    const rejects = name !== 'generate';
    if (rejects) throwIfCancelled(options.signal);
    await this.ready();
    if (rejects) throwIfCancelled(options.signal);
    const id = this.nextId++;
    const cancel = (): void => this.send({ kind: 'cancel', id });
    options.signal?.addEventListener('abort', cancel);
    try {
      return await new Promise<T>((resolve, reject) => {
        this.pending.set(id, { resolve, reject, onProgress: options.onProgress, onText: options.onText });
        void this.sendCall({ kind: 'call', id, name, args, cpuShare: options.cpuShare }, reject).then(() => {
          if (options.signal?.aborted) cancel();
        });
      });
    } finally {
      options.signal?.removeEventListener('abort', cancel);
      this.pending.delete(id);
    }
  }

  /** A call whose arrays are large goes in pieces; if the process dies meanwhile, the call fails with it. */
  private async sendCall(call: CallMessage, failed: (error: Error) => void): Promise<void> {
    const { child } = this;
    const apart = takeApart(call.args);
    if (apart) await sendArrays(call.id, apart.arrays, message => sent(child, message));
    if (this.child !== child) failed(crashed('while it was sent something'));
    else this.send(apart ? { ...call, args: apart.value as readonly unknown[] } : call);
  }

  private send(message: ToEngine): void {
    if (this.child?.connected) this.child.send(message);
  }

  private async start(): Promise<void> {
    const now = Date.now();
    while (this.starts.length > 0 && now - this.starts[0]! > RESTART_WINDOW_MS) this.starts.shift();
    if (this.starts.length > RESTARTS) {
      throw new LongviewError('engine-crashed', 'The engine stopped again and again; see the log, then try again.');
    }
    this.starts.push(now);
    const provider = this.providerFailure === undefined ? await this.chosen() : 'cpu';
    if (!isAccelerator(provider)) return this.launch(provider);
    try {
      await this.launch(provider);
    } catch (error) {
      if (codeOf(error) === 'usage') throw error;
      this.giveUp(provider, messageOf(error));
      await this.launch('cpu').catch((failure: unknown) => {
        // Then it was not to blame.
        this.providerFailure = undefined;
        throw failure;
      });
    }
  }

  /** Probes once: a process that is started again runs on what was chosen. */
  private async chosen(): Promise<string | undefined> {
    const { probes: outcomes, ...options } = this.options;
    if (outcomes === undefined) return options.provider;
    this.choice ??= await chooseApart({ ...options, threads: this.threads, outcomes });
    return this.choice.name;
  }

  /** From now on the CPU takes the provider's place. */
  private giveUp(provider: string, reason: string): void {
    const { probes, modelFolder } = this.options;
    this.providerFailure = `${provider} can't be used here: ${reason}`;
    this.options.log?.('warning', `engine: ${this.providerFailure}; the CPU takes its place`);
    if (probes !== undefined) void forgetOutcome(probes, modelFolder, provider);
  }

  private get threads(): number {
    return Math.min(this.options.threads ?? automaticThreads(), 4 * CORES);
  }

  private async launch(provider: string | undefined): Promise<void> {
    if (this.disposed) throw new LongviewError('engine-crashed', 'The engine was closed.');
    const args: EngineArguments = {
      modelFolder: this.options.modelFolder,
      threads: this.threads,
      provider,
      belowNormal: this.options.belowNormal,
    };
    const script = this.options.script ?? fileURLToPath(new URL('./engine-main.js', import.meta.url));
    const child = fork(script, [JSON.stringify(args)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ORT_DISABLE_TELEMETRY: '1' },
    });
    this.child = child;
    this.contentless = new ContentlessReceiver();
    const log = this.options.log ?? silentLog;
    let isReady = false;
    // Until then native code complains of providers in its own words; the provider's reason says the same in one line.
    const level = (): LogLevel => (isReady ? 'warning' : 'debug');
    child.stderr?.setEncoding('utf8').on('data', (text: string) => log(level(), `engine: ${text.trimEnd()}`));
    await new Promise<void>((resolve, reject) => {
      let unusable = false;
      child.on('message', (message: FromEngine) => {
        if (message.kind === 'ready') {
          const { name, reason } = message.model.provider;
          this.description = {
            ...message.model,
            provider: { name, reason: this.providerFailure ?? this.choice?.reason ?? reason },
          };
          this.generation++;
          isReady = true;
          resolve();
        } else if (message.kind === 'unusable') {
          unusable = true;
          child.kill();
          reject(new LongviewError(message.code, message.message));
        } else {
          this.receive(message);
        }
      });
      child.on('error', reject);
      child.on('exit', (code, signal) => {
        const how = signal ?? `exit code ${code}`;
        if (!this.disposed && !unusable) log('error', `engine: the process ended (${how})`);
        const error = crashed(`(${how})`);
        reject(error);
        // One that could not load its model may end after the next was started.
        if (this.child !== child) return;
        this.child = undefined;
        // Who waits for it hears of it, and may start the next one already.
        if (!isReady) return;
        if (!this.disposed && isAccelerator(provider) && this.model.provider.name === provider)
          this.giveUp(provider, how);
        this.starting = undefined;
        for (const pending of this.pending.values()) pending.reject(error);
        this.pending.clear();
        this.arriving.clear();
      });
    });
  }

  private receive(message: Exclude<FromEngine, { kind: 'ready' | 'unusable' }>): void {
    if (message.kind === 'arrays' || message.kind === 'piece') {
      this.arriving.receive(message);
      return;
    }
    const pending = this.pending.get(message.id);
    if (!pending) return;
    switch (message.kind) {
      case 'result':
        pending.resolve(this.arriving.complete(message.id, message.value) as never);
        break;
      case 'error':
        pending.reject(new LongviewError(message.code, message.message));
        break;
      case 'progress':
        pending.onProgress?.(message.tokens);
        break;
      case 'text':
        pending.onText?.(message.text);
        break;
    }
  }
}

/** Resolves when there is room for more, or the process is gone. */
function sent(child: ChildProcess | undefined, message: ToEngine): Promise<void> {
  return new Promise(resolve => {
    if (!child?.connected) resolve();
    else child.send(message, () => resolve());
  });
}
