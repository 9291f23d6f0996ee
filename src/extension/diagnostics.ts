/** *Diagnostics*: what is needed to understand a problem, as a document to look at and to send or not. Holds no text of files. */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import { method } from '../protocol/index.js';
import { command, section } from './ids.js';
import { foldersOnDisk, labelOf } from './folder-choice.js';
import { statusText } from './reading-text.js';
import { userCommand, type Services } from './services.js';

const uri = vscode.Uri.from({ scheme: 'longview-diagnostics', path: '/Longview Diagnostics.md' });

export function activateDiagnostics(services: Services): vscode.Disposable {
  let content = '';
  const changed = new vscode.EventEmitter<vscode.Uri>();
  // Read-only: closing it asks nothing.
  const provider = { onDidChange: changed.event, provideTextDocumentContent: () => content };
  return vscode.Disposable.from(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(uri.scheme, provider),
    userCommand(services, command.diagnostics, async () => {
      content = await report(services);
      changed.fire(uri);
      await vscode.window.showTextDocument(await vscode.workspace.openTextDocument(uri), { preview: true });
      return content;
    }),
  );
}

async function report({ client, context, models, reading }: Services): Promise<string> {
  const { token } = new vscode.CancellationTokenSource();
  const tried = async (work: () => Thenable<string[]>): Promise<string[]> => {
    try {
      return await work();
    } catch (error) {
      return [`- failed: ${messageOf(error)}`];
    }
  };
  const version = (context.extension.packageJSON as { readonly version?: string }).version ?? '';
  const settings = vscode.workspace.getConfiguration(section);
  const lines = [
    '# Longview diagnostics',
    '',
    `- Longview ${version}, VS Code ${vscode.version}, Node ${process.versions.node}, ${process.platform} ${process.arch}`,
    `- remote: ${vscode.env.remoteName ?? 'none'}, trusted: ${vscode.workspace.isTrusted ? 'yes' : 'no'}`,
    `- reading: ${statusText(reading.state).tooltip.replaceAll('\n', ' ')}`,
    `- settings: ${JSON.stringify(settings)}`,
    '',
    '## Server',
    ...(await tried(async () => {
      const began = performance.now();
      const { process: id, task, waiting } = await client.request(method.ping, {}, token);
      const took = Math.round(performance.now() - began);
      return [`- process ${id} answered in ${took} ms; works on: ${task ?? 'nothing'}; waiting: ${waiting}`];
    })),
    '',
    '## Models',
    ...(await tried(async () => {
      const { models: known, engine } = await models.list();
      const runs = engine ? `${engine.model} on ${engine.provider} (${engine.reason})` : 'nothing yet';
      return [
        `- running: ${runs}`,
        ...known.map(
          ({ name, installed, diskBytes, problem }) =>
            `- ${name}: ${problem ?? (installed ? `installed, ${Math.round(diskBytes / 1e6)} MB` : 'not installed')}`,
        ),
      ];
    })),
  ];
  // Nothing looks at a folder that is not trusted.
  for (const folder of vscode.workspace.isTrusted ? foldersOnDisk() : []) {
    lines.push('', `## Folder ${labelOf(folder)}`);
    lines.push(
      ...(await tried(async () => {
        const { files, status } = await client.request(method.files, { folder: folder.uri.toString() }, token);
        const reasons = new Map<string, number>();
        for (const { reason } of files) if (reason !== undefined) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        return [
          `- files: ${JSON.stringify(status.coverage)}`,
          `- skipped for: ${[...reasons].map(([reason, count]) => `${reason} ${count}`).join(', ') || 'nothing'}`,
          `- tokens: ${status.tokens}; state slots: ${status.state.slots}; recall slots: ${status.recall.slots}`,
          `- store: ${status.store.bytes} bytes`,
        ];
      })),
    );
  }
  return `${lines.join('\n')}\n`;
}
