/**
 * What the Ask view shows and does, without the editor: the questions of this session, the one that is being answered, the
 * model's state. Tells its listener what changed. One question is answered at a time; a new one stops the one before.
 */
import { CancellationTokenSource } from 'vscode-jsonrpc/node';
import {
  method,
  type AskState,
  type BoxState,
  type ExchangeChange,
  type FolderView,
  type ModelReply,
  type ModelView,
  type Remedy,
  type Selection,
  type ToAskView,
} from '../protocol/index.js';
import { Exchange, placeOnly } from './ask-exchange.js';
import type { QuestionHistory } from './question-history.js';
import { ProgressLine, megabytes, type Translate } from './progress-line.js';
import type { ServerClient } from './server-client.js';

export interface AskPorts {
  readonly client: Pick<ServerClient, 'request'>;
  readonly history: QuestionHistory;
  readonly folders: () => readonly FolderView[];
  readonly post: (message: ToAskView) => void;
  /** An answer is complete; files may have been read for it. */
  readonly answered: () => void;
  readonly can: (remedy: Remedy) => boolean;
  readonly log: (message: string) => void;
  readonly t: Translate;
}

/** A question to be asked. */
export interface AskWish {
  readonly question: string;
  /** URI; the chosen one when missing. */
  readonly folder?: string;
  readonly selection?: Selection;
}

interface Run {
  readonly exchange: Exchange;
  source: CancellationTokenSource;
  /** Ends when the run has. */
  ended: Promise<void>;
  wantsNow: boolean;
}

const mostExchanges = 20;
/** Words are shown at most this often. */
const textEveryMs = 80;
/** Until then a quick answer may come by itself. */
const offerNowAfterMs = 700;

export class AskSession {
  private exchanges: Exchange[] = [];
  private chosen: string | undefined;
  private selection: Selection | undefined;
  private model: ModelView = { kind: 'unknown' };
  private run: Run | undefined;
  private installing: CancellationTokenSource | undefined;
  /** What was asked before there was a model. */
  private waiting: AskWish | undefined;
  private lastId = 0;

  constructor(private readonly ports: AskPorts) {}

  get state(): AskState {
    return { box: this.box, exchanges: this.exchanges.map(exchange => exchange.view) };
  }

  /** URI of the folder that the next question is about. */
  get folder(): string | undefined {
    const folders = this.ports.folders();
    return (folders.find(({ uri }) => uri === this.chosen) ?? folders[0])?.uri;
  }

  exchange(id: number): Exchange | undefined {
    return this.exchanges.find(exchange => exchange.asked.id === id);
  }

  /** With a selection, the next question is about its lines. */
  choose(folder: string, selection?: Selection): void {
    this.chosen = folder;
    this.selection = selection;
    this.postBox();
  }

  dropSelection(): void {
    this.selection = undefined;
    this.postBox();
  }

  foldersChanged(): void {
    this.postBox();
  }

  clearHistory(): void {
    this.ports.history.clear();
    this.postBox();
  }

  /** Looks whether the model is there. */
  async lookForModel(): Promise<void> {
    if (this.installing) return;
    try {
      const model = await this.ports.client.request(method.model, {}, new CancellationTokenSource().token);
      this.setModel(model.installed ? { kind: 'ready' } : this.missing(model));
    } catch (error) {
      this.setModel({ kind: 'missing', name: 'Longview', facts: [], problem: messageOf(error) });
    }
  }

  /** The exchange once its answer is complete or has failed; nothing where no question could be asked yet. */
  async ask(wish: AskWish, consent = false): Promise<Exchange | undefined> {
    const folder = wish.folder ?? this.folder;
    const question = wish.question.trim();
    if (folder === undefined || question === '') return undefined;
    await this.stop();
    if (this.model.kind !== 'ready') await this.lookForModel();
    const asked = { ...wish, question, folder };
    if (this.model.kind !== 'ready') {
      this.waiting = asked;
      return consent ? this.install() : undefined;
    }
    return this.begin(asked);
  }

  /** Ends the answer that is being written, if any. */
  async stop(): Promise<void> {
    const { run } = this;
    if (!run) return;
    run.wantsNow = false;
    this.postExchange(run.exchange.showProgress({ progress: this.ports.t('Stopping') }, false));
    run.source.cancel();
    await run.ended;
  }

  /** Gives up reading and answers from what is read. */
  answerNow(): void {
    if (!this.run?.exchange.view.canAnswerNow) return;
    this.run.wantsNow = true;
    this.run.source.cancel();
  }

  /** The user's consent: gets the model, then asks what waits for it. */
  async install(): Promise<Exchange | undefined> {
    if (this.installing) return undefined;
    const source = (this.installing = new CancellationTokenSource());
    const name = this.model.kind === 'missing' ? this.model.name : 'Longview';
    const line = new ProgressLine(this.ports.t);
    this.setModel({ kind: 'installing', name });
    let problem: string | undefined;
    try {
      await this.ports.client.request(method.installModel, {}, source.token, {
        onProgress: progress => this.setModel({ kind: 'installing', name, ...line.show(progress) }),
      });
    } catch (error) {
      if (!source.token.isCancellationRequested) problem = messageOf(error);
    }
    this.installing = undefined;
    await this.lookForModel();
    if (problem !== undefined) {
      this.ports.log(problem);
      if (this.model.kind === 'missing') this.setModel({ ...this.model, problem });
    }
    const { waiting } = this;
    if (this.model.kind !== 'ready' || !waiting) return undefined;
    this.waiting = undefined;
    return this.begin(waiting as Required<AskWish>);
  }

  cancelInstall(): void {
    this.installing?.cancel();
  }

  private begin(wish: AskWish & { readonly folder: string }): Promise<Exchange> {
    const folders = this.ports.folders();
    const label = folders.length > 1 ? folders.find(({ uri }) => uri === wish.folder)?.label : undefined;
    const selection = wish.selection ?? (wish.folder === this.folder ? this.selection : undefined);
    const exchange = new Exchange({ ...wish, id: ++this.lastId, label, selection });
    this.exchanges = [exchange, ...this.exchanges].slice(0, mostExchanges);
    this.ports.history.add(wish.question);
    this.selection = undefined;
    exchange.restart(this.ports.t('Starting'));
    this.ports.post({ type: 'exchanges', exchanges: this.state.exchanges });
    this.postBox();
    const run: Run = { exchange, source: new CancellationTokenSource(), ended: Promise.resolve(), wantsNow: false };
    run.ended = this.answer(run, false);
    this.run = run;
    return run.ended.then(() => exchange);
  }

  private async answer(run: Run, now: boolean): Promise<void> {
    const { exchange } = run;
    const { t } = this.ports;
    const { folder, question, selection } = exchange.asked;
    const { source } = run;
    const line = new ProgressLine(t);
    const began = Date.now();
    let timer: NodeJS.Timeout | undefined;
    const change = (made: ExchangeChange): void => this.postExchange(made);
    const showText = (): void => {
      timer = undefined;
      change(exchange.showText());
    };
    try {
      const reply = await this.ports.client.request(method.ask, { folder, question, now, selection }, source.token, {
        onProgress: progress => {
          if (exchange.view.phase !== 'working' || source.token.isCancellationRequested) return;
          change(exchange.showProgress(line.show(progress), !now && Date.now() - began > offerNowAfterMs));
        },
        onRecalled: recalled => change(exchange.showRecalled(recalled, t('Writing the answer'))),
        onText: text => {
          exchange.append(text);
          timer ??= setTimeout(showText, textEveryMs);
        },
      });
      clearTimeout(timer);
      this.run = undefined;
      change(exchange.complete(reply));
      this.ports.answered();
    } catch (error) {
      clearTimeout(timer);
      if (run.wantsNow && !now) {
        run.source = new CancellationTokenSource();
        change(exchange.restart(t('Answering from what is read')));
        return this.answer(run, true);
      }
      this.run = undefined;
      if (source.token.isCancellationRequested) change(exchange.stop(t('Stopped.')));
      else await this.fail(exchange, error);
    }
  }

  private async fail(exchange: Exchange, error: unknown): Promise<void> {
    const message = messageOf(error);
    this.ports.log(message);
    const code = (error as { data?: { code?: unknown } }).data?.code;
    let remedies: Remedy[] = ['askAgain', 'showLog'];
    if (code === 'not-found' || code === 'bad-format' || code === 'hash-mismatch') {
      await this.lookForModel();
      if (this.model.kind === 'missing') remedies = ['install', 'chooseModel', 'showLog'];
    } else if (code === 'engine-crashed' || code === 'out-of-memory') {
      remedies = ['askAgain', 'chooseModel', 'showLog'];
    }
    const possible = remedies.filter(remedy => this.ports.can(remedy));
    this.postExchange(exchange.fail(message, possible));
  }

  private missing({ name, source, license, downloadBytes, diskBytes }: ModelReply): ModelView {
    const { t } = this.ports;
    const facts = [
      t('{0} to download from {1}', megabytes(downloadBytes), source),
      t('{0} on disk', megabytes(diskBytes)),
      t('License: {0}', license),
    ];
    return { kind: 'missing', name, facts };
  }

  private setModel(model: ModelView): void {
    this.model = model;
    this.postBox();
  }

  private get box(): BoxState {
    const { folder, model, selection } = this;
    return {
      folders: this.ports.folders(),
      folder,
      model,
      history: this.ports.history.all,
      ...(selection && { selection: placeOnly(selection) }),
    };
  }

  private postBox(): void {
    this.ports.post({ type: 'box', box: this.box });
  }

  private postExchange(change: ExchangeChange): void {
    this.ports.post({ type: 'exchange', ...change });
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
