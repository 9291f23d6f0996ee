/**
 * The Ask view in the editor: its page, the messages of the page, what they open. The session (ask-session.ts) outlives the
 * page, which is thrown away whenever it is hidden.
 */
import * as vscode from 'vscode';
import type { FromAskView, Remedy, ToAskView } from '../protocol/index.js';
import { AskSession, type SummaryWish } from './ask-session.js';
import { askStrings } from './ask-strings.js';
import type { Exchange } from './exchange.js';
import { folderViews } from './folder-labels.js';
import { command, view } from './ids.js';
import { openPlace } from './open-place.js';
import { QuestionHistory } from './question-history.js';
import type { Services } from './services.js';
import { fillPage } from './webview-page.js';

export class AskView implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly session: AskSession;
  private page: vscode.WebviewView | undefined;
  private isReady = false;
  /** What gets the focus once it is there: the question, the exchange that begins next, or one by its number. */
  private focusWhenReady: 'question' | 'next' | number | undefined;
  private commands: ReadonlySet<string> = new Set();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly services: Services) {
    this.session = new AskSession({
      client: services.client,
      history: new QuestionHistory(services.context.workspaceState),
      // Nothing is read in Restricted Mode.
      folders: () => folderViews(vscode.workspace.isTrusted ? (vscode.workspace.workspaceFolders ?? []) : []),
      post: message => this.post(message),
      answered: () => void vscode.commands.executeCommand(command.refreshMemory),
      can: remedy => remedy !== 'chooseModel' || this.commands.has(command.chooseModel),
      log: message => services.log.error(message),
      t: vscode.l10n.t,
    });
    this.subscriptions = [
      vscode.window.registerWebviewViewProvider(view.ask, this),
      vscode.workspace.onDidChangeWorkspaceFolders(() => this.session.foldersChanged()),
      vscode.workspace.onDidGrantWorkspaceTrust(() => {
        this.start();
        if (this.isReady) void this.lookForModel();
      }),
    ];
  }

  async resolveWebviewView(page: vscode.WebviewView): Promise<void> {
    const { webview } = page;
    this.page = page;
    this.isReady = false;
    page.onDidDispose(() => {
      if (this.page === page) this.page = undefined;
    });
    webview.onDidReceiveMessage((message: FromAskView) => void this.handle(message));
    fillPage(webview, this.services.context.extensionUri, 'ask.js', vscode.l10n.t('Ask Longview'));
    this.commands = new Set(await vscode.commands.getCommands(true));
  }

  /** Brings the view up, with the cursor in the question. */
  show(): Promise<void> {
    this.focusWhenReady = 'question';
    return this.bringUp();
  }

  /** Brings the view up, at a new summary. Resolves with it once it is complete; with nothing where there is no model. */
  async summarize(wish: SummaryWish): Promise<Exchange | undefined> {
    this.focusWhenReady = 'next';
    const summary = this.session.summarize(wish);
    await this.bringUp();
    const exchange = await summary;
    if (!exchange) await this.show();
    return exchange;
  }

  /** The document form of an exchange, not shown yet. */
  document(exchange: Exchange): vscode.Uri {
    return this.services.documents.of(exchange).uri;
  }

  dispose(): void {
    void this.session.stop();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private post(message: ToAskView): void {
    if (message.type === 'exchange') {
      const exchange = this.session.exchange(message.exchange.id);
      if (exchange) this.services.documents.update(exchange);
    }
    if (message.type === 'exchanges' && this.focusWhenReady === 'next') this.focusWhenReady = message.exchanges[0]?.id;
    if (this.isReady) void this.page?.webview.postMessage(message);
    if (message.type === 'exchanges') this.focusIfReady();
  }

  private start(): void {
    this.post({ type: 'start', strings: askStrings(), ...this.session.state });
  }

  /** It takes a server, and in Restricted Mode none is started. */
  private async lookForModel(): Promise<void> {
    if (vscode.workspace.isTrusted) await this.session.lookForModel();
  }

  private async bringUp(): Promise<void> {
    await vscode.commands.executeCommand(`${view.ask}.focus`);
    this.focusIfReady();
  }

  private focusIfReady(): void {
    const focus = this.focusWhenReady;
    if (!this.isReady || focus === undefined || focus === 'next' || !this.page?.visible) return;
    this.focusWhenReady = undefined;
    this.post(focus === 'question' ? { type: 'focus' } : { type: 'focusExchange', id: focus });
  }

  private async handle(message: FromAskView): Promise<void> {
    const { session } = this;
    switch (message.type) {
      case 'ready':
        this.isReady = true;
        this.start();
        this.focusIfReady();
        return this.lookForModel();
      case 'ask':
        await session.ask({ question: message.question });
        return;
      case 'stop':
        return session.stop();
      case 'answerNow':
        session.answerNow();
        return;
      case 'folder':
        session.choose(message.uri);
        return;
      case 'dropSelection':
        session.dropSelection();
        return;
      case 'install':
        await session.install();
        return;
      case 'cancelInstall':
        session.cancelInstall();
        return;
      case 'clearHistory':
        session.clearHistory();
        return;
      case 'open':
      case 'copy':
      case 'openDocument':
      case 'remedy': {
        const exchange = session.exchange(message.id);
        if (exchange) await this.handleOf(exchange, message);
        return;
      }
    }
  }

  private async handleOf(exchange: Exchange, message: Extract<FromAskView, { id: number }>): Promise<void> {
    switch (message.type) {
      case 'open':
        if (exchange.mayOpen(message.place)) await openPlace(vscode.Uri.parse(exchange.folder), message.place);
        return;
      case 'copy':
        await vscode.env.clipboard.writeText(exchange.copied);
        this.post({ type: 'copied', id: message.id });
        return;
      case 'openDocument':
        return this.services.documents.show(this.document(exchange));
      case 'remedy':
        return this.remedy(exchange, message.remedy);
    }
  }

  private async remedy(exchange: Exchange, remedy: Remedy): Promise<void> {
    switch (remedy) {
      case 'askAgain':
      case 'summarizeAgain':
        await this.session.again(exchange);
        return;
      case 'install':
        await this.session.install();
        return;
      case 'showLog':
        this.services.log.show();
        return;
      case 'chooseModel':
        await vscode.commands.executeCommand(command.chooseModel);
    }
  }
}
