/**
 * Offers the command line's MCP server to the editor, over the bundle and the Node that this extension came with. Never
 * starts it: the editor does, when an agent wants its tools. Offers nothing in Restricted Mode.
 */
import * as vscode from 'vscode';
import type { ServerOptions } from '../protocol/index.js';
import { mcpProvider, section } from './ids.js';
import type { Services } from './services.js';
import { flagsOf } from './setting-values.js';
import { foldersOnDisk } from './folder-choice.js';
import { requireTrust } from './trust.js';

export function activateMcpProvider({ context }: Services, options: () => ServerOptions): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const provider: vscode.McpServerDefinitionProvider<vscode.McpStdioServerDefinition> = {
    onDidChangeMcpServerDefinitions: changed.event,
    provideMcpServerDefinitions: () => definitionsFor(context, options),
    resolveMcpServerDefinition: definition => {
      requireTrust();
      return definition;
    },
  };
  return vscode.Disposable.from(
    changed,
    vscode.lm.registerMcpServerDefinitionProvider(mcpProvider, provider),
    vscode.workspace.onDidGrantWorkspaceTrust(() => changed.fire()),
    vscode.workspace.onDidChangeWorkspaceFolders(() => changed.fire()),
    vscode.workspace.onDidChangeConfiguration(change => {
      if (change.affectsConfiguration(section)) changed.fire();
    }),
  );
}

function definitionsFor(
  context: vscode.ExtensionContext,
  options: () => ServerOptions,
): vscode.McpStdioServerDefinition[] {
  const folders = foldersOnDisk();
  if (!vscode.workspace.isTrusted || folders.length === 0) return [];
  const script = vscode.Uri.joinPath(context.extensionUri, 'dist', 'cli.js').fsPath;
  const { version } = context.extension.packageJSON as { version: string };
  return [
    new vscode.McpStdioServerDefinition(
      'Longview',
      process.execPath,
      [script, 'mcp', ...folders.map(folder => folder.uri.fsPath), ...flagsOf(options())],
      // In the desktop editor the executable is Electron's.
      { ELECTRON_RUN_AS_NODE: '1', ORT_DISABLE_TELEMETRY: '1' },
      version,
    ),
  ];
}
