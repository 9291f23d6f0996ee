/**
 * The Memory view: coverage by folder and state, figures, Read Now and Pause. The editor's own tree: it draws only the rows
 * on the screen, is typed into to find a file, and is read out and driven by keys as every other tree of the editor is; a
 * tree of our own in a webview would have to copy all that. Looks at the ledger only while it is visible.
 */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import { foldersOnDisk } from './folder-choice.js';
import { method, type FileState, type StatusReply } from '../protocol/index.js';
import { CoverageTree, type CoverageNode } from './coverage-tree.js';
import { folderViews } from './folder-labels.js';
import { GrowthView } from './growth-view.js';
import { command, view } from './ids.js';
import { figureNodes, stateName, treeItem, uriOf, type MemoryNode } from './memory-nodes.js';
import { statusText } from './reading-text.js';
import type { ReadingState } from './reading.js';
import { userCommand, type Services } from './services.js';

interface Ledger {
  readonly tree: CoverageTree;
  readonly status: StatusReply;
}

/** While it reads, the ledger is looked at this often, and less often where looking takes long. */
const refreshEveryMs = 3000;
const states: readonly FileState[] = ['read', 'reading', 'stale', 'waiting', 'coarse', 'skipped'];

export function activateMemoryView(services: Services): vscode.Disposable {
  const growth = new GrowthView(services);
  const memory = new MemoryView(services, (folder, status) => growth.note(folder, status));
  return vscode.Disposable.from(
    growth,
    memory,
    userCommand(services, command.refreshMemory, () => memory.refreshWhereVisible()),
    userCommand(services, command.filterMemory, (given?: FileState | null) => memory.filter(given)),
    userCommand(services, command.showMemory, async () => vscode.commands.executeCommand(`${view.memory}.focus`)),
    userCommand(services, command.forgetInMemory, (node: MemoryNode) => memory.forget(node)),
  );
}

export class MemoryView implements vscode.TreeDataProvider<MemoryNode>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly tree: vscode.TreeView<MemoryNode>;
  private readonly ledgers = new Map<string, Ledger>();
  private readonly subscriptions: { dispose(): unknown }[];
  private only: FileState | undefined;
  private looking: Promise<void> | undefined;
  private lookingNext: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private lastMs = 0;

  /** `onStatus` is told each folder's figures whenever they are looked at. */
  constructor(
    private readonly services: Services,
    private readonly onStatus: (folder: string, status: StatusReply) => void,
  ) {
    this.tree = vscode.window.createTreeView(view.memory, { treeDataProvider: this, showCollapseAll: true });
    this.subscriptions = [
      this.changed,
      this.tree,
      this.tree.onDidChangeVisibility(({ visible }) => {
        if (visible) void this.refresh();
      }),
      services.reading.onDidChange(state => this.onReading(state)),
      services.client.onDidChangeFiles(() => this.refreshSoon()),
      vscode.workspace.onDidChangeWorkspaceFolders(() => void this.refresh()),
    ];
    this.onReading(services.reading.state);
  }

  /** Looks at the ledgers again; the tree keeps what is open and selected. */
  refresh(): Promise<void> {
    if (!this.looking) return (this.looking = this.look().finally(() => (this.looking = undefined)));
    // A look that runs may have been before the change.
    return (this.lookingNext ??= this.looking.then(() => {
      this.lookingNext = undefined;
      return this.refresh();
    }));
  }

  /** A hidden view looks when it is shown. */
  async refreshWhereVisible(): Promise<void> {
    if (this.tree.visible) await this.refresh();
  }

  /** `null`: all states. Asks where nothing is given. */
  async filter(given?: FileState | null): Promise<void> {
    const chosen = given === undefined ? await this.pickState() : { state: given ?? undefined };
    if (!chosen) return;
    this.only = chosen.state;
    this.tree.description = this.only && stateName(this.only);
    await this.refresh();
  }

  async forget(node: MemoryNode): Promise<void> {
    if (node.kind !== 'coverage' || node.node.kind !== 'file') return;
    await vscode.commands.executeCommand(command.forgetFile, uriOf(node.folder, node.node.row.path));
  }

  getTreeItem(node: MemoryNode): vscode.TreeItem {
    return treeItem(node);
  }

  getChildren(node?: MemoryNode): MemoryNode[] {
    if (!node) return this.roots();
    switch (node.kind) {
      case 'workspaceFolder':
        return this.contents(node.folder);
      case 'figures': {
        const ledger = this.ledgers.get(node.folder.uri.toString());
        return ledger ? figureNodes(ledger.status) : [];
      }
      case 'figure':
        return [];
      case 'coverage':
        return this.children(node.folder, node.node);
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const subscription of this.subscriptions) subscription.dispose();
  }

  private roots(): MemoryNode[] {
    const known = this.folders().filter(folder => this.ledgers.has(folder.uri.toString()));
    if (known.length === 1) return this.contents(known[0]!);
    const labels = new Map(folderViews(known).map(({ uri, label }) => [uri, label]));
    return known.map(folder => ({
      kind: 'workspaceFolder',
      folder,
      label: labels.get(folder.uri.toString()) ?? folder.name,
    }));
  }

  private contents(folder: vscode.WorkspaceFolder): MemoryNode[] {
    const ledger = this.ledgers.get(folder.uri.toString());
    // Where nothing is known, the view's welcome says what to do.
    if (!ledger || ledger.status.coverage.total === 0) return [];
    return [{ kind: 'figures', folder }, ...coverageNodes(folder, ledger.tree.children(''))];
  }

  private children(folder: vscode.WorkspaceFolder, node: CoverageNode): MemoryNode[] {
    const tree = this.ledgers.get(folder.uri.toString())?.tree;
    if (!tree || node.kind === 'file') return [];
    return coverageNodes(folder, node.kind === 'rest' ? tree.children(node.path, node.from) : tree.children(node.path));
  }

  private folders(): vscode.WorkspaceFolder[] {
    return vscode.workspace.isTrusted ? foldersOnDisk() : [];
  }

  private async look(): Promise<void> {
    const began = Date.now();
    const { token } = new vscode.CancellationTokenSource();
    for (const { uri } of this.folders()) {
      const folder = uri.toString();
      try {
        const { files, status } = await this.services.client.request(method.files, { folder }, token);
        this.ledgers.set(folder, { tree: new CoverageTree(files, this.only), status });
        this.onStatus(folder, status);
      } catch (error) {
        this.ledgers.delete(folder);
        this.services.log.error(`Memory view: ${messageOf(error)}`);
      }
    }
    this.lastMs = Date.now() - began;
    this.changed.fire(undefined);
  }

  private onReading(state: ReadingState): void {
    const isReading = state.kind === 'reading';
    void vscode.commands.executeCommand('setContext', 'longview.isReading', isReading);
    const { text, tooltip } = statusText(state);
    const plain = text.replace(/\$\([^)]*\)\s*/g, '');
    // What is read completely needs no message: the figures say it.
    this.tree.message =
      state.kind === 'ready' || state.kind === 'idle' ? undefined : `${plain}: ${tooltip.replaceAll('\n', ' · ')}`;
    // What was read in the background is noted once it is read.
    if (!this.tree.visible && state.kind !== 'ready') return;
    if (!isReading) void this.refresh();
    else this.refreshSoon();
  }

  private refreshSoon(): void {
    this.timer ??= setTimeout(
      () => {
        this.timer = undefined;
        void this.refreshWhereVisible();
      },
      Math.max(refreshEveryMs, 10 * this.lastMs),
    );
  }

  private pickState(): Thenable<{ readonly state?: FileState } | undefined> {
    return vscode.window.showQuickPick(
      [
        { label: vscode.l10n.t('all files'), state: undefined },
        ...states.map(state => ({ label: stateName(state), state })),
      ],
      { title: vscode.l10n.t('Show files of one state') },
    );
  }
}

function coverageNodes(folder: vscode.WorkspaceFolder, nodes: readonly CoverageNode[]): MemoryNode[] {
  return nodes.map(node => ({ kind: 'coverage', folder, node }));
}
