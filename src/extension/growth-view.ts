/** The Growth view: a small chart of each folder's memory. Is told of the figures (memory-view.ts), asks for none itself. */
import * as vscode from 'vscode';
import type { StatusReply, ToGrowthView } from '../protocol/index.js';
import { folderViews } from './folder-labels.js';
import { Growth, growthChart } from './growth.js';
import { view } from './ids.js';
import { fillPage } from './webview-page.js';
import type { Services } from './services.js';

export class GrowthView implements vscode.WebviewViewProvider, vscode.Disposable {
  private readonly growth: Growth;
  private readonly registered: vscode.Disposable;
  private page: vscode.WebviewView | undefined;

  constructor(private readonly services: Pick<Services, 'context'>) {
    this.growth = new Growth(services.context.workspaceState);
    this.registered = vscode.window.registerWebviewViewProvider(view.growth, this);
  }

  note(folder: string, status: StatusReply): void {
    this.growth.note(folder, status);
    this.show();
  }

  resolveWebviewView(page: vscode.WebviewView): void {
    this.page = page;
    page.onDidDispose(() => (this.page = undefined));
    // `ready` is all it says.
    page.webview.onDidReceiveMessage(() => this.show());
    fillPage(page.webview, this.services.context.extensionUri, 'growth.js', vscode.l10n.t('Growth of the memory'));
  }

  dispose(): void {
    this.registered.dispose();
  }

  private show(): void {
    const folders = folderViews(vscode.workspace.workspaceFolders ?? []);
    const charts = folders.map(({ uri, label }) => {
      const title = folders.length > 1 ? label : undefined;
      return growthChart(this.growth.points(uri), title, vscode.l10n.t);
    });
    void this.page?.webview.postMessage({ type: 'growth', charts } satisfies ToGrowthView);
  }
}
