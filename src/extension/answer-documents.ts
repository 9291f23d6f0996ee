/**
 * Read-only documents that show answers while they are written, with links from `path:line` to the workspace.
 * Keeps answers whose document is open, and some that were made but not shown. Never writes a file.
 */
import * as vscode from 'vscode';
import { findPlaces, renderAnswer, type AnswerParts } from './answer-text.js';
import { answerScheme } from './ids.js';

/** Documents that were made but never shown are kept up to this many. */
const mostKept = 50;
/** The editor takes a changed document in at most this often. */
const updateEveryMs = 120;

/** A document that grows. */
export interface ShownDocument {
  readonly uri: vscode.Uri;
  readonly folder: vscode.Uri;
  readonly content: string;
  /** Paths that it may link to. */
  readonly paths: readonly string[];
}

export class AnswerDocument implements ShownDocument {
  private parts: AnswerParts;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly uri: vscode.Uri,
    readonly folder: vscode.Uri,
    parts: AnswerParts,
    private readonly changed: (uri: vscode.Uri) => void,
  ) {
    this.parts = parts;
  }

  get content(): string {
    return renderAnswer(this.parts);
  }

  /** Paths that the answer may link to: what was recalled, and citations whose check passed. */
  get paths(): string[] {
    const cited = this.parts.reply?.citations.filter(place => place.ok) ?? [];
    return [...this.parts.recalled, ...cited].map(place => place.path);
  }

  append(text: string): void {
    this.update({ text: this.parts.text + text });
  }

  update(change: Partial<AnswerParts>): void {
    this.parts = { ...this.parts, ...change };
    this.timer ??= setTimeout(() => this.flush(), updateEveryMs);
  }

  /** Shows what is there now. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.changed(this.uri);
  }
}

export class AnswerDocuments implements vscode.TextDocumentContentProvider, vscode.DocumentLinkProvider {
  private readonly answers = new Map<string, ShownDocument>();
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  private readonly subscriptions: { dispose(): unknown }[];
  private lastNumber = 0;
  readonly onDidChange = this.changed.event;

  constructor() {
    this.subscriptions = [
      this.changed,
      vscode.workspace.registerTextDocumentContentProvider(answerScheme, this),
      vscode.languages.registerDocumentLinkProvider({ scheme: answerScheme }, this),
      vscode.workspace.onDidCloseTextDocument(document => this.answers.delete(document.uri.toString())),
    ];
  }

  /** A new document in an editor tab. */
  async open(folder: vscode.Uri, question: string): Promise<AnswerDocument> {
    const answer = this.add(folder, { question, recalled: [], text: '' });
    await this.show(answer.uri);
    return answer;
  }

  /** An answer that is not shown yet. */
  add(folder: vscode.Uri, parts: AnswerParts): AnswerDocument {
    return this.make((uri, changed) => new AnswerDocument(uri, folder, parts, changed));
  }

  /** A document that is not shown yet; it calls `changed` when its content did. */
  make<D extends ShownDocument>(create: (uri: vscode.Uri, changed: (uri: vscode.Uri) => void) => D): D {
    const uri = vscode.Uri.from({ scheme: answerScheme, path: `/Longview ${++this.lastNumber}.md` });
    const answer = create(uri, changed => this.changed.fire(changed));
    const open = new Set(vscode.workspace.textDocuments.map(document => document.uri.toString()));
    const closed = [...this.answers.keys()].filter(key => !open.has(key));
    for (const key of closed.slice(0, Math.max(0, closed.length - mostKept))) this.answers.delete(key);
    this.answers.set(uri.toString(), answer);
    return answer;
  }

  has(uri: vscode.Uri): boolean {
    return this.answers.has(uri.toString());
  }

  async show(uri: vscode.Uri): Promise<void> {
    const document = await vscode.workspace.openTextDocument(uri);
    await vscode.window.showTextDocument(document, { preview: false, viewColumn: columnForAnswers() });
  }

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.answers.get(uri.toString())?.content ?? vscode.l10n.t('This answer is gone. Ask again.');
  }

  provideDocumentLinks(document: vscode.TextDocument): vscode.DocumentLink[] {
    const answer = this.answers.get(document.uri.toString());
    if (!answer) return [];
    return findPlaces(document.getText(), answer.paths).map(({ place, start, end }) => {
      const range = new vscode.Range(document.positionAt(start), document.positionAt(end));
      const lines = `L${place.startLine},1-L${place.endLine + 1},1`;
      return new vscode.DocumentLink(range, vscode.Uri.joinPath(answer.folder, place.path).with({ fragment: lines }));
    });
  }

  dispose(): void {
    for (const subscription of this.subscriptions) subscription.dispose();
  }
}

/** Where answers are already, else beside the text that the question is about. */
function columnForAnswers(): vscode.ViewColumn {
  const shown = vscode.window.visibleTextEditors.find(editor => editor.document.uri.scheme === answerScheme);
  if (shown?.viewColumn !== undefined) return shown.viewColumn;
  return vscode.window.activeTextEditor ? vscode.ViewColumn.Beside : vscode.ViewColumn.Active;
}
