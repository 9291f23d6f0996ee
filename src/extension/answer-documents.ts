/**
 * Read-only documents that show answers and summaries while they are written, with links from `path:line` to the workspace.
 * Keeps what is open, and some that were made but not shown. Never writes a file.
 */
import * as vscode from 'vscode';
import { findPlaces, isDocument } from './answer-text.js';
import type { Exchange } from './exchange.js';
import { answerScheme } from './ids.js';

/** Documents that were made but never shown are kept up to this many. */
const mostKept = 50;
/** The editor takes a changed document in at most this often. */
const updateEveryMs = 120;

/** An exchange as a document that grows. */
export class ExchangeDocument {
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly uri: vscode.Uri,
    readonly exchange: Exchange,
    private readonly changed: (uri: vscode.Uri) => void,
  ) {}

  /** The exchange changed. */
  update(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.changed(this.uri);
    }, updateEveryMs);
  }
}

export class AnswerDocuments implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider {
  private readonly known = new Map<string, ExchangeDocument>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: { dispose(): unknown }[];
  private lastNumber = 0;
  readonly onDidChange = this.changed.event;

  constructor() {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(answerScheme, this),
      vscode.languages.registerDocumentLinkProvider({ scheme: answerScheme }, this),
      vscode.workspace.onDidCloseTextDocument(document => this.known.delete(document.uri.toString())),
    ];
  }

  /** The exchange's document: the one there is, or a new one that is not shown yet. */
  of(exchange: Exchange): ExchangeDocument {
    const there = this.find(exchange);
    if (there) return there;
    const uri = vscode.Uri.from({ scheme: answerScheme, path: `/Longview ${++this.lastNumber}.md` });
    const made = new ExchangeDocument(uri, exchange, changed => this.changed.fire(changed));
    const open = new Set(vscode.workspace.textDocuments.map(document => document.uri.toString()));
    const closed = [...this.known.keys()].filter(key => !open.has(key));
    for (const key of closed.slice(0, Math.max(0, closed.length - mostKept))) this.known.delete(key);
    this.known.set(uri.toString(), made);
    return made;
  }

  /** Shows in the exchange's document, where there is one, what is new. */
  update(exchange: Exchange): void {
    this.find(exchange)?.update();
  }

  async show(uri: vscode.Uri): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false, viewColumn: columnForAnswers() });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    const there = this.known.get(uri.toString());
    return there?.exchange.document ?? vscode.l10n.t('This answer is gone. Ask again.');
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const exchange = this.known.get(document.uri.toString())?.exchange;
    if (!exchange) return [];
    const folder = vscode.Uri.parse(exchange.folder);
    const paths = exchange.checked.map(place => place.path);
    return findPlaces(document.getText(), paths).map(({ place, start, end }) => {
      const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
      const lines = isDocument(place.path) ? '' : `L${place.startLine},1-L${place.endLine + 1},1`;
      return new vscode.DocumentLink(range, vscode.Uri.joinPath(folder, place.path).with({ fragment: lines }));
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private find(exchange: Exchange): ExchangeDocument | undefined {
    return [...this.known.values()].find(document => document.exchange === exchange);
  }
}

/** Where answers are already, else beside the text that the question is about. */
function columnForAnswers(): vscode.ViewColumn {
  const shown = vscode.window.visibleTextEditors.find(editor => editor.document.uri.scheme === answerScheme);
  if (shown?.viewColumn !== undefined) return shown.viewColumn;
  return vscode.window.activeTextEditor ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
}
