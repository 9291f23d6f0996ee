/** The second window of windows.suite.ts: reads, asks beside it, and goes on reading until it is closed. */
import { writeFileSync } from 'node:fs';
import * as vscode from 'vscode';
import { counts, until } from './editor-state.js';
import { sign } from './windows.suite.js';

export async function run(): Promise<void> {
  await vscode.extensions.getExtension('longview.longview')!.activate();
  const reading = vscode.commands.executeCommand('longview.readNow');
  await until('the first file', async () => (await counts()).read > 0);
  const uri = await vscode.commands.executeCommand<vscode.Uri | undefined>('longview.ask', {
    question: 'What is part100Line9?',
  });
  if (uri) writeFileSync(sign('reader-answered'), uri.toString());
  await reading;
}
