/** The hover over a name whose definition is in another file. Cancelled as the pointer moves on; silent when it fails. */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import { documentSelector, locationOf, type DefinitionRequests } from './definition-requests.js';
import { hoverMarkdown } from './definition-text.js';
import type { Services } from './services.js';

export function activateHover({ log }: Services, requests: DefinitionRequests): vscode.Disposable {
  return vscode.languages.registerHoverProvider(documentSelector, {
    async provideHover(document, position, token) {
      const place = requests.nameAt(document, position);
      if (!place) return undefined;
      try {
        const reply = await requests.ask(document, place, token);
        if (!reply || token.isCancellationRequested) return undefined;
        const text = hoverMarkdown(reply, {
          translate: vscode.l10n.t,
          linkTo: candidate => {
            const { uri, range } = locationOf(place.folder, candidate);
            return uri.with({ fragment: `L${range.start.line + 1}` }).toString();
          },
        });
        if (text === undefined) return undefined;
        const markdown = new vscode.MarkdownString(text);
        markdown.isTrusted = false;
        markdown.supportHtml = false;
        return new vscode.Hover(markdown, place.range);
      } catch (error) {
        if (!token.isCancellationRequested) log.debug(`Hover: ${messageOf(error)}`);
        return undefined;
      }
    },
  });
}
