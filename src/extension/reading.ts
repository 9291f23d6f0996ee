/**
 * Reading the workspace in the background: starts, pauses, goes on by itself, and tells how far it is. One folder after
 * another; the server does the work. Never reads in a workspace that is not trusted, and never downloads a model: for
 * that the user is asked (model-consent.ts).
 */
import * as vscode from 'vscode';
import { TimeLeft, messageOf } from '../base/index.js';
import { method, type CoverageCounts, type ProgressEvent, type ReadParams } from '../protocol/index.js';
import { foldersOnDisk, labelOf } from './folder-choice.js';
import { section, setting } from './ids.js';
import type { PowerGate } from './power-gate.js';
import { ServerEnded, type ServerClient } from './server-client.js';

export type ReadingState =
  /** Not asked to read yet. */
  | { readonly kind: 'idle' }
  | { readonly kind: 'noFolder' | 'untrusted' | 'noModel' | 'paused' }
  /** Begins, or goes on, by itself when the machine is plugged in. */
  | { readonly kind: 'onBattery' }
  | {
      readonly kind: 'reading';
      readonly folder: string;
      readonly progress?: ProgressEvent;
      /** 0…1 while it is known. */
      readonly fraction?: number;
      readonly secondsLeft?: number;
    }
  | { readonly kind: 'ready'; readonly coverage: CoverageCounts }
  | { readonly kind: 'problem'; readonly message: string };

/** Key of `workspaceState`: reading of this workspace was begun once, so it is brought to its end and kept up to date. */
const wasReadKey = 'longview.wasRead';
/** Key of `workspaceState`: the user paused reading and did not go on. */
const isPausedKey = 'longview.isPaused';
/** After start-up other things go first. */
const startDelayMs = 3000;
const retryMs = 1000;
/** After files were read that changed, the workspace state is brought up to date at most this often. */
const stateEveryMs = 60_000;

interface Run {
  readonly extent: Extent;
  /** Nobody asked for it: it leaves the battery alone. */
  readonly byItself: boolean;
  readonly stop: vscode.CancellationTokenSource;
  readonly done: Promise<void>;
}

/** What is read: everything that a look at the folders finds, or what the server said has changed. */
type Extent = Pick<ReadParams, 'walk' | 'state' | 'forgotten'>;
const everything: Extent = {};
const changedFiles: Extent = { walk: false, state: false };
const changedState: Extent = { walk: false };

export class Reading implements vscode.Disposable {
  private current: ReadingState = { kind: 'idle' };
  private readonly changed = new vscode.EventEmitter<ReadingState>();
  private running: Run | undefined;
  private readonly subscriptions: { dispose(): unknown }[];
  /** Times that files changed while it read. */
  private changesMeanwhile = 0;
  private stateTimer: NodeJS.Timeout | undefined;
  readonly onDidChange = this.changed.event;

  constructor(
    private readonly client: ServerClient,
    private readonly memento: vscode.Memento,
    private readonly log: vscode.LogOutputChannel,
    private readonly power: PowerGate,
    private readonly cpuShare: () => number | undefined,
  ) {
    const timer = setTimeout(() => void this.startByItself(), startDelayMs);
    this.subscriptions = [
      this.changed,
      { dispose: () => clearTimeout(timer) },
      { dispose: () => clearTimeout(this.stateTimer) },
      client.onDidChangeFiles(({ waiting }) => {
        if (waiting > 0) void this.readChanges(changedFiles);
        else this.updateStateLater();
      }),
      vscode.workspace.onDidGrantWorkspaceTrust(() => void this.startByItself()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => {
        const { kind } = this.current;
        if (kind === 'reading' || kind === 'ready' || kind === 'onBattery')
          void this.begin(everything, this.running?.byItself ?? true);
      }),
    ];
    this.lookAround();
  }

  get state(): ReadingState {
    return this.current;
  }

  /** Whether this workspace has been read, be it in part, here or in an earlier session. */
  get wasRead(): boolean {
    return this.memento.get<boolean>(wasReadKey) === true;
  }

  /**
   * Reads all folders; resolves when it is done, paused or failed. A call while it runs begins again with what is there now.
   * `forgotten`: the user wants what was forgotten, too.
   */
  start({ forgotten }: Pick<Extent, 'forgotten'> = {}): Promise<void> {
    return this.begin({ ...everything, forgotten }, false);
  }

  /** What reads, or waits for power, begins again after `change`. */
  async restart(change?: () => Promise<void>): Promise<void> {
    const { running } = this;
    await this.stop();
    await change?.();
    if (running) await this.begin(running.extent, running.byItself);
  }

  /** Stops what runs; nothing is read by itself, changes neither, until the user goes on. Nothing where nothing would be read. */
  async pause(): Promise<void> {
    if (!this.running && this.current.kind !== 'ready') return;
    await this.stop();
    await this.memento.update(isPausedKey, true);
    this.set({ kind: 'paused' });
  }

  dispose(): void {
    this.running?.stop.cancel();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private async begin(extent: Extent, byItself: boolean): Promise<void> {
    await this.stop();
    if (!this.lookAround()) return;
    void this.memento.update(isPausedKey, undefined);
    await this.run(extent, byItself);
  }

  private async run(extent: Extent, byItself: boolean): Promise<void> {
    if (extent.state !== false) {
      clearTimeout(this.stateTimer);
      this.stateTimer = undefined;
    }
    const before = this.changesMeanwhile;
    const stop = new vscode.CancellationTokenSource();
    const done = byItself ? this.readPluggedIn(stop.token, extent) : this.readAll(stop.token, extent);
    this.running = { extent, byItself, stop, done };
    await done;
    this.forgetRun(stop);
    if (this.changesMeanwhile > before) await this.readChanges(changedFiles);
  }

  /** Files that were read have changed, or new ones are there: they are read soon, where the user wants that by itself. */
  private async readChanges(extent: Extent): Promise<void> {
    const when = settings().get<string>(setting.startReading);
    if (when === 'never') return;
    if (this.running) this.changesMeanwhile++;
    if (this.running || this.current.kind !== 'ready') return;
    await this.run(extent, true);
    if (extent.state === false) this.updateStateLater();
  }

  private updateStateLater(): void {
    this.stateTimer ??= setTimeout(() => {
      this.stateTimer = undefined;
      void this.readChanges(changedState);
    }, stateEveryMs);
  }

  private forgetRun(stop: vscode.CancellationTokenSource): void {
    if (this.running?.stop === stop) this.running = undefined;
  }

  private async stop(): Promise<void> {
    const running = this.running;
    this.running = undefined;
    running?.stop.cancel();
    await running?.done;
  }

  private async startByItself(): Promise<void> {
    const when = settings().get<string>(setting.startReading);
    const wanted = when === 'always' || (when !== 'never' && this.wasRead);
    // The trust that was missing may be there now.
    if (this.current.kind === 'untrusted' && this.lookAround()) this.set({ kind: 'idle' });
    if (!wanted || this.current.kind === 'reading') return;
    if (this.memento.get(isPausedKey) === true && this.lookAround()) this.set({ kind: 'paused' });
    else await this.begin(everything, true);
  }

  /** False, with the state saying why, where nothing can be read. */
  private lookAround(): boolean {
    if (foldersOnDisk().length === 0) this.set({ kind: 'noFolder' });
    else if (!vscode.workspace.isTrusted) this.set({ kind: 'untrusted' });
    else return true;
    return false;
  }

  private async readPluggedIn(token: vscode.CancellationToken, extent: Extent): Promise<void> {
    const stopped = new AbortController();
    token.onCancellationRequested(() => stopped.abort());
    const read = (signal: AbortSignal): Promise<void> => {
      const stop = new vscode.CancellationTokenSource();
      signal.addEventListener('abort', () => stop.cancel());
      return this.readAll(stop.token, extent);
    };
    await this.power.run(stopped.signal, read, () => this.set({ kind: 'onBattery' }));
  }

  private async readAll(token: vscode.CancellationToken, extent: Extent): Promise<void> {
    try {
      const model = await this.client.request(method.model, {}, token);
      if (!model.installed) {
        this.set({ kind: 'noModel' });
        return;
      }
      // From now on: what a reload or a crash interrupts goes on by itself.
      await this.memento.update(wasReadKey, true);
      const sum = { total: 0, read: 0, stale: 0, waiting: 0, coarse: 0, skipped: 0 };
      const problems: string[] = [];
      for (const folder of foldersOnDisk()) {
        // What is wrong with one folder keeps no other from being read.
        let coverage: Partial<CoverageCounts> = {};
        try {
          coverage = await this.readFolder(folder, extent, token);
        } catch (error) {
          problems.push(messageOf(error));
        }
        if (token.isCancellationRequested) return;
        for (const key of Object.keys(sum) as (keyof typeof sum)[]) sum[key] += coverage[key] ?? 0;
      }
      if (problems.length > 0) throw new Error([...new Set(problems)].join(' '));
      this.set({ kind: 'ready', coverage: sum });
    } catch (error) {
      if (token.isCancellationRequested) return;
      const message = messageOf(error);
      this.log.error(`Reading: ${message}`);
      this.set({ kind: 'problem', message });
    }
  }

  private async readFolder(
    folder: vscode.WorkspaceFolder,
    extent: Extent,
    token: vscode.CancellationToken,
  ): Promise<CoverageCounts> {
    let { forgotten } = extent;
    for (;;) {
      const timeLeft = new TimeLeft();
      this.set({ kind: 'reading', folder: labelOf(folder) });
      try {
        const params = { folder: folder.uri.toString(), ...extent, forgotten, cpuShare: this.cpuShare() };
        const { coverage } = await this.client.request(method.read, params, token, {
          onProgress: progress => {
            if (token.isCancellationRequested) return;
            const { fraction, secondsLeft } = timeLeft.after(progress, Date.now());
            this.set({ kind: 'reading', folder: labelOf(folder), progress, fraction, secondsLeft });
          },
        });
        return coverage;
      } catch (error) {
        // The server ends reading to make room, e.g. for forgetting; and after a crash the client starts another one.
        const goesOn = isCancelled(error) || error instanceof ServerEnded;
        if (token.isCancellationRequested || !goesOn) throw error;
        // What made it end may have been that a file was to be forgotten.
        forgotten = undefined;
        await new Promise(done => setTimeout(done, retryMs));
      }
    }
  }

  private set(state: ReadingState): void {
    this.current = state;
    this.changed.fire(state);
  }
}

function settings(): vscode.WorkspaceConfiguration {
  return vscode.workspace.getConfiguration(section);
}

function isCancelled(error: unknown): boolean {
  return (error as { data?: { code?: string } }).data?.code === 'cancelled';
}
