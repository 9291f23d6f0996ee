/** What the nodes of the Memory view look like and say. A node's name for a screen reader says its state in words. */
import * as vscode from 'vscode';
import type { FileState, StatusReply } from '../protocol/index.js';
import type { CoverageNode, FileNode, FolderNode } from './coverage-tree.js';
import { count, megabytes } from './progress-line.js';
import { visibleText } from './visible-text.js';

export type MemoryNode =
  | { readonly kind: 'workspaceFolder'; readonly folder: vscode.WorkspaceFolder; readonly label: string }
  | { readonly kind: 'figures'; readonly folder: vscode.WorkspaceFolder }
  | {
      readonly kind: 'figure';
      readonly label: string;
      readonly value: string;
      readonly icon: string;
      readonly tooltip?: string;
    }
  | { readonly kind: 'coverage'; readonly folder: vscode.WorkspaceFolder; readonly node: CoverageNode };

const icons: Readonly<Record<FileState, string>> = {
  read: 'check',
  reading: 'sync',
  stale: 'history',
  waiting: 'clock',
  coarse: 'fold',
  skipped: 'circle-slash',
};

export function stateName(state: FileState): string {
  switch (state) {
    case 'read':
      return vscode.l10n.t('read');
    case 'reading':
      return vscode.l10n.t('being read');
    case 'stale':
      return vscode.l10n.t('changed since it was read');
    case 'waiting':
      return vscode.l10n.t('not read yet');
    case 'coarse':
      return vscode.l10n.t('read coarsely');
    case 'skipped':
      return vscode.l10n.t('skipped');
  }
}

export function treeItem(node: MemoryNode): vscode.TreeItem {
  switch (node.kind) {
    case 'workspaceFolder': {
      const item = new vscode.TreeItem(node.label, vscode.TreeItemCollapsibleState.Expanded);
      return Object.assign(item, { id: node.folder.uri.toString(), iconPath: new vscode.ThemeIcon('root-folder') });
    }
    case 'figures': {
      const item = new vscode.TreeItem(vscode.l10n.t('Figures'), vscode.TreeItemCollapsibleState.Expanded);
      return Object.assign(item, { id: `${node.folder.uri.toString()} figures`, iconPath: icon('graph') });
    }
    case 'figure': {
      const item = new vscode.TreeItem(node.label);
      return Object.assign(item, {
        description: node.value,
        iconPath: icon(node.icon),
        tooltip: node.tooltip ?? node.value,
      });
    }
    case 'coverage':
      return coverageItem(node.folder, node.node);
  }
}

function coverageItem(folder: vscode.WorkspaceFolder, node: CoverageNode): vscode.TreeItem {
  switch (node.kind) {
    case 'folder':
      return folderItem(folder, node);
    case 'file':
      return fileItem(folder, node);
    case 'rest': {
      const label = vscode.l10n.t('{0} more', count(node.count));
      const item = new vscode.TreeItem(label, vscode.TreeItemCollapsibleState.Collapsed);
      return Object.assign(item, {
        id: `${folder.uri.toString()}/${node.path} ${node.from}`,
        iconPath: icon('ellipsis'),
      });
    }
  }
}

function folderItem(
  folder: vscode.WorkspaceFolder,
  { path, name, files, states, tokens }: FolderNode,
): vscode.TreeItem {
  const item = new vscode.TreeItem(visibleText(name), vscode.TreeItemCollapsibleState.Collapsed);
  const read = vscode.l10n.t('{0} of {1} read', count(states.read ?? 0), count(files));
  const all = (Object.keys(states) as FileState[]).map(state => `${count(states[state] ?? 0)} ${stateName(state)}`);
  return Object.assign(item, {
    id: `${folder.uri.toString()}/${path}`,
    description: read,
    tooltip: `${visibleText(path)}\n${all.join(', ')}\n${vscode.l10n.t('{0} tokens', count(tokens))}`,
    iconPath: vscode.ThemeIcon.Folder,
    accessibilityInformation: { label: vscode.l10n.t('folder {0}, {1}', visibleText(name), read) },
    contextValue: 'folder',
  });
}

function fileItem(folder: vscode.WorkspaceFolder, { name, row }: FileNode): vscode.TreeItem {
  const item = new vscode.TreeItem(visibleText(name));
  const tokens = vscode.l10n.t('{0} tokens', count(row.tokens));
  const state = row.reason === undefined ? stateName(row.state) : `${stateName(row.state)}: ${visibleText(row.reason)}`;
  const isRemembered = row.tokens > 0 && row.state !== 'skipped';
  const description =
    row.state === 'read' && row.reason === undefined ? tokens : isRemembered ? `${state} · ${tokens}` : state;
  const isFile = !row.path.endsWith('/');
  return Object.assign(item, {
    id: `${folder.uri.toString()}/${row.path}`,
    description,
    tooltip: `${visibleText(row.path)}\n${state}${isRemembered ? `\n${tokens}` : ''}`,
    iconPath: icon(icons[row.state]),
    accessibilityInformation: { label: `${visibleText(name)}, ${state}, ${isRemembered ? tokens : ''}` },
    contextValue: isFile ? (isRemembered ? 'file remembered' : 'file') : 'skippedFolder',
    ...(isFile && {
      command: { command: 'vscode.open', title: vscode.l10n.t('Open'), arguments: [uriOf(folder, row.path)] },
    }),
  });
}

export function uriOf(folder: vscode.WorkspaceFolder, path: string): vscode.Uri {
  return vscode.Uri.joinPath(folder.uri, path);
}

/** Slots against tokens, recall slots, the store: each a node that is read out. */
export function figureNodes({ tokens, state, recall, store }: StatusReply): MemoryNode[] {
  const { t } = vscode.l10n;
  const figure = (label: string, value: string, icon: string, tooltip?: string): MemoryNode => ({
    kind: 'figure',
    label,
    value,
    icon,
    ...(tooltip !== undefined && { tooltip }),
  });
  const ratio =
    state.slots > 0 ? ` · ${t('{0} tokens a slot', ((state.tokens ?? tokens) / state.slots).toFixed(1))}` : '';
  const part = state.tokens !== undefined && state.tokens < tokens;
  const made = part ? t('Of the {0} tokens read first: longview.memory.state', count(state.tokens)) : undefined;
  return [
    figure(t('Tokens read'), count(tokens), 'book'),
    figure(t('State'), `${t('{0} slots', count(state.slots))}${ratio} · ${megabytes(state.bytes)}`, 'database', made),
    figure(t('Recall'), `${t('{0} slots', count(recall.slots))} · ${megabytes(recall.bytes)}`, 'search'),
    figure(t('Store'), megabytes(store.bytes), 'archive', store.path),
  ];
}

function icon(name: string): vscode.ThemeIcon {
  return new vscode.ThemeIcon(name);
}
