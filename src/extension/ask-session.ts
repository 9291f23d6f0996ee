/**
 * What the Ask view shows and does, without the editor: the questions and summaries of this session, the one that is being
 * worked on. Tells its listener what changed. One is worked on at a time; a new one stops the one before.
 */
import { CancellationTokenSource, type CancellationToken } from 'vscode-jsonrpc/node';
import { messageOf } from '../base/index.js';
import {
  method,
  type AskState,
  type BoxState,
  type ExchangeChange,
  type FolderView,
  type Remedy,
  type Selection,
  type ToAskView,
} from '../protocol/index.js';
import { AskExchange, type Asked } from './ask-exchange.js';
import { placeOnly, type Exchange } from './exchange.js';
import { ModelOffer, type ModelPorts } from './model-offer.js';
import { ProgressLine } from './progress-line.js';
import type { QuestionHistory } from './question-history.js';
import { SummaryExchange, type Summarized } from './summary-exchange.js';

export interface AskPorts extends ModelPorts {
  readonly history: QuestionHistory;
  readonly folders: () => readonly FolderView[];
  readonly post: (message: ToAskView) => void;
  /** An answer or summary is complete; files may have been read for it. */
  readonly answered: () => void;
  readonly can: (remedy: Remedy) => boolean;
}

/** A question to be asked. */
export interface AskWish {
  readonly question: string;
  /** URI; the chosen one when missing. */
  readonly folder?: string;
  readonly selection?: Selection;
}

/** A summary to be made. */
export type SummaryWish = Omit<Summarized, 'id' | 'label'>;

interface Run {
  readonly exchange: Exchange;
  source: CancellationTokenSource;
  /** Ends when the run has. */
  ended: Promise<void>;
  wantsNow: boolean;
}

/** Resolves with the last change of the exchange. `now`: without looking for changed files. */
type Work = (token: CancellationToken, now: boolean) => Promise<ExchangeChange>;

const mostExchanges = 20;
/** Words are shown at most this often. */
const textEveryMs = 80;
/** Until then a quick answer may come by itself. */
const offerNowAfterMs = 700;

export class AskSession {
  private exchanges: Exchange[] = [];
  private chosen: string | undefined;
  private selection: Selection | undefined;
  private readonly model: ModelOffer;
  private run: Run | undefined;
  /** What was wanted before there was a model. */
  private waiting: (() => Promise<Exchange>) | undefined;
  private lastId = 0;

  constructor(private readonly ports: AskPorts) {
    this.model = new ModelOffer(ports, () => this.postBox());
  }

  get state(): AskState {
    return { box: this.box, exchanges: this.exchanges.map(exchange => exchange.view) };
  }

  /** URI of the folder that the next question is about. */
  get folder(): string | undefined {
    const folders = this.ports.folders();
    return (folders.find(({ uri }) => uri === this.chosen) ?? folders[0])?.uri;
  }

  exchange(id: number): Exchange | undefined {
    return this.exchanges.find(exchange => exchange.view.id === id);
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

  lookForModel(): Promise<void> {
    return this.model.look();
  }

  /** The exchange once its answer is complete or has failed; nothing where no question could be asked yet. */
  async ask(wish: AskWish, consent = false): Promise<Exchange | undefined> {
    const folder = wish.folder ?? this.folder;
    const question = wish.question.trim();
    if (folder === undefined || question === '') return undefined;
    return this.onceThereIsAModel(() => this.beginAnswer({ ...wish, question, folder }), consent);
  }

  /** The exchange once the summary is complete or has failed; nothing where it could not begin yet. */
  summarize(wish: SummaryWish, consent = false): Promise<Exchange | undefined> {
    return this.onceThereIsAModel(() => this.beginSummary(wish), consent);
  }

  /** The same once more, as a new exchange. */
  again(exchange: Exchange): Promise<Exchange | undefined> {
    if (exchange instanceof AskExchange) return this.ask(exchange.asked);
    if (exchange instanceof SummaryExchange) return this.summarize(exchange.wanted);
    return Promise.resolve(undefined);
  }

  /** Ends what is being worked on, if anything. */
  async stop(): Promise<void> {
    const { run } = this;
    if (!run) return;
    run.wantsNow = false;
    this.postExchange(run.exchange.showProgress({ progress: this.ports.t('Stopping') }));
    run.source.cancel();
    await run.ended;
  }

  /** Gives up reading and answers from what is read. */
  answerNow(): void {
    if (!this.run?.exchange.view.canAnswerNow) return;
    this.run.wantsNow = true;
    this.run.source.cancel();
  }

  /** The user's consent: gets the model, then does what waits for it. */
  async install(): Promise<Exchange | undefined> {
    await this.model.install();
    const { waiting } = this;
    if (this.model.view.kind !== 'ready' || !waiting) return undefined;
    this.waiting = undefined;
    return waiting();
  }

  cancelInstall(): void {
    this.model.cancel();
  }

  private async onceThereIsAModel(begin: () => Promise<Exchange>, consent: boolean): Promise<Exchange | undefined> {
    await this.stop();
    if (this.model.view.kind !== 'ready') await this.model.look();
    if (this.model.view.kind === 'ready') return begin();
    this.waiting = begin;
    return consent ? this.install() : undefined;
  }

  private beginAnswer(asked: Omit<Asked, 'id' | 'label'>): Promise<Exchange> {
    const selection = asked.selection ?? (asked.folder === this.folder ? this.selection : undefined);
    const exchange = new AskExchange({ ...asked, selection, ...this.named(asked.folder) });
    this.ports.history.add(asked.question);
    this.selection = undefined;
    return this.begin(exchange, (token, now) => this.answer(exchange, token, now));
  }

  private beginSummary(wanted: SummaryWish): Promise<Exchange> {
    const exchange = new SummaryExchange({ ...wanted, ...this.named(wanted.folder) });
    return this.begin(exchange, token => this.tell(exchange, token));
  }

  private named(folder: string): { id: number; label: string | undefined } {
    const folders = this.ports.folders();
    const label = folders.length > 1 ? folders.find(({ uri }) => uri === folder)?.label : undefined;
    return { id: ++this.lastId, label };
  }

  private async begin(exchange: Exchange, work: Work): Promise<Exchange> {
    // One may have begun since the last was stopped.
    void this.stop();
    this.exchanges = [exchange, ...this.exchanges].slice(0, mostExchanges);
    exchange.restart(this.ports.t('Starting'));
    this.ports.post({ type: 'exchanges', exchanges: this.state.exchanges });
    this.postBox();
    const run: Run = { exchange, source: new CancellationTokenSource(), ended: Promise.resolve(), wantsNow: false };
    this.run = run;
    run.ended = this.carryOut(run, work, false);
    await run.ended;
    return exchange;
  }

  private async carryOut(run: Run, work: Work, now: boolean): Promise<void> {
    const { exchange, source } = run;
    const { t } = this.ports;
    try {
      const last = await work(source.token, now);
      this.leave(run);
      this.postExchange(last);
      this.ports.answered();
    } catch (error) {
      if (run.wantsNow && !now) {
        run.source = new CancellationTokenSource();
        this.postExchange(exchange.restart(t('Answering from what is read')));
        return this.carryOut(run, work, true);
      }
      this.leave(run);
      if (source.token.isCancellationRequested) this.postExchange(exchange.stop(t('Stopped.')));
      else await this.fail(exchange, error);
    }
  }

  private async answer(exchange: AskExchange, token: CancellationToken, now: boolean): Promise<ExchangeChange> {
    const { t, client } = this.ports;
    const { folder, question, selection } = exchange.asked;
    const line = new ProgressLine(t);
    const began = Date.now();
    let timer: NodeJS.Timeout | undefined;
    const showText = (): void => {
      timer = undefined;
      this.postExchange(exchange.showText());
    };
    try {
      const reply = await client.request(method.ask, { folder, question, now, selection }, token, {
        onProgress: progress => {
          if (exchange.view.phase !== 'working' || token.isCancellationRequested) return;
          const offersNow = !now && Date.now() - began > offerNowAfterMs;
          this.postExchange(exchange.showProgress(line.show(progress), offersNow));
        },
        onRecalled: recalled => this.postExchange(exchange.showRecalled(recalled, t('Writing the answer'))),
        onText: text => {
          exchange.append(text);
          timer ??= setTimeout(showText, textEveryMs);
        },
      });
      return exchange.complete(reply);
    } finally {
      clearTimeout(timer);
    }
  }

  private async tell(exchange: SummaryExchange, token: CancellationToken): Promise<ExchangeChange> {
    const { folder, target, maxSentences } = exchange.wanted;
    const line = new ProgressLine(this.ports.t);
    const reply = await this.ports.client.request(method.summarize, { folder, target, maxSentences }, token, {
      onProgress: progress => {
        if (!token.isCancellationRequested) this.postExchange(exchange.showProgress(line.show(progress)));
      },
      // Seconds apart, so each is shown at once.
      onSentence: sentence => this.postExchange(exchange.append(sentence)),
    });
    return exchange.complete(reply);
  }

  private leave(run: Run): void {
    if (this.run === run) this.run = undefined;
  }

  private async fail(exchange: Exchange, error: unknown): Promise<void> {
    const message = messageOf(error);
    this.ports.log(message);
    const code = (error as { data?: { code?: unknown } }).data?.code;
    let remedies: Remedy[] = ['showLog'];
    let canTryAgain = true;
    if (code === 'not-found' || code === 'bad-format' || code === 'hash-mismatch') {
      await this.model.look();
      if (this.model.view.kind === 'missing') {
        remedies = ['install', 'chooseModel', 'showLog'];
        canTryAgain = false;
      }
    } else if (code === 'engine-crashed' || code === 'out-of-memory') {
      remedies = ['chooseModel', 'showLog'];
    }
    const possible = remedies.filter(remedy => this.ports.can(remedy));
    this.postExchange(exchange.fail(message, possible, canTryAgain));
  }

  private get box(): BoxState {
    const { folder, model, selection } = this;
    return {
      folders: this.ports.folders(),
      folder,
      model: model.view,
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
