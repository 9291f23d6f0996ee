/**
 * The Ask view in the editor: its page, the messages of the page, what they open. The session (ask-session.ts) outlives the
 * page, which is thrown away whenever it is hidden.
 */
import * as vscode from 'vscode';
import type { FromAskView, Place, Remedy, ToAskView } from '../protocol/index.js';
import type { Exchange } from './ask-exchange.js';
import { AskSession } from './ask-session.js';
import { askStrings } from './ask-strings.js';
import { folderViews } from './folder-labels.js';
import { command, view } from './ids.js';
import { QuestionHistory } from './question-history.js';
import type { Services } from './services.js';
import { fillPage } from './webview-page.js';

export class AskView implements vscode.WebviewViewProvider, vscode.Disposable {
  readonly session: AskSession;
  private page: vscode.WebviewView | undefined;
  private isReady = false;
  private focusWhenReady = false;
  private commands: ReadonlySet<string> = new Set();
  private readonly documents = new Map<number, vscode.Uri>();
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
      vscode.workspace.onDidGrantWorkspaceTrust(() => this.start()),
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
  async show(): Promise<void> {
    this.focusWhenReady = true;
    await vscode.commands.executeCommand(`${view.ask}.focus`);
    this.focusIfReady();
  }

  /** The document form of an answer, not shown yet. */
  document(exchange: Exchange): vscode.Uri {
    const { id, folder } = exchange.asked;
    const known = this.documents.get(id);
    if (known && this.services.documents.has(known)) return known;
    const { uri } = this.services.documents.add(vscode.Uri.parse(folder), exchange.parts);
    this.documents.set(id, uri);
    return uri;
  }

  dispose(): void {
    void this.session.stop();
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private post(message: ToAskView): void {
    if (this.isReady) void this.page?.webview.postMessage(message);
  }

  private start(): void {
    this.post({ type: 'start', strings: askStrings(), ...this.session.state });
  }

  private focusIfReady(): void {
    if (!this.isReady || !this.focusWhenReady || !this.page?.visible) return;
    this.focusWhenReady = false;
    this.post({ type: 'focus' });
  }

  private async handle(message: FromAskView): Promise<void> {
    const { session } = this;
    switch (message.type) {
      case 'ready':
        this.isReady = true;
        this.start();
        this.focusIfReady();
        return session.lookForModel();
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
        if (exchange.mayOpen(message.place)) await openPlace(exchange.asked.folder, message.place);
        return;
      case 'copy':
        await vscode.env.clipboard.writeText(exchange.answer);
        this.post({ type: 'copied', id: message.id });
        return;
      case 'openDocument':
        return this.services.documents.show(this.document(exchange));
      case 'remedy':
        return this.remedy(exchange, message.remedy);
    }
  }

  private async remedy({ asked }: Exchange, remedy: Remedy): Promise<void> {
    switch (remedy) {
      case 'askAgain':
        await this.session.ask(asked);
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

/** Opens a file of the folder with the place's lines selected. */
async function openPlace(folder: string, { path, startLine, endLine }: Place): Promise<void> {
  const uri = vscode.Uri.joinPath(vscode.Uri.parse(folder), path);
  try {
    const document = await vscode.workspace.openTextDocument(uri);
    const last = document.lineAt(Math.min(endLine, document.lineCount) - 1);
    const selection = new vscode.Range(Math.min(startLine - 1, last.lineNumber), 0, last.lineNumber, last.text.length);
    await vscode.window.showTextDocument(document, { selection });
  } catch (error) {
    void vscode.window.showErrorMessage(error instanceof Error ? error.message : String(error));
  }
}
