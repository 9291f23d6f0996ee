/** Puts the page of one view of the panel into its webview: the bundle's files, and nothing else of the disk, can be loaded. */
import { randomUUID } from 'node:crypto';
import * as vscode from 'vscode';
import { panelHtml } from './panel-html.js';

/** `script`: a file of dist/webview. */
export function fillPage(webview: vscode.Webview, extension: vscode.Uri, script: string, title: string): void {
  const files = vscode.Uri.joinPath(extension, 'dist', 'webview');
  const address = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(files, name)).toString();
  webview.options = { enableScripts: true, localResourceRoots: [files] };
  webview.html = panelHtml({
    title,
    language: vscode.env.language,
    source: webview.cspSource,
    style: address('panel.css'),
    script: address(script),
    nonce: randomUUID(),
  });
}
