/**
 * `→ src/x.ts:12` after calls whose only known definition is in another file. Off unless the setting is on; only lines that
 * are visible, a bounded number of names, each asked about once with what stands before its dot for a version of the document.
 */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import type { DefinitionCandidate } from '../protocol/index.js';
import { documentSelector, locationOf, type DefinitionRequests, type NamedPlace } from './definition-requests.js';
import { hintText } from './definition-text.js';
import { section, setting } from './ids.js';
import { namesIn, sharedUse } from './names-in-line.js';
import type { Services } from './services.js';

const mostNames = 40;
const mostHints = 80;
const mostLines = 300;

/** Answers about the uses of names of one version of a document, by `sharedUse` or place. */
interface Known {
  readonly version: number;
  readonly parts: Map<string, vscode.InlayHintLabelPart | undefined>;
}

export function activateInlayHints({ log }: Services, requests: DefinitionRequests): vscode.Disposable {
  const changed = new vscode.EventEmitter<void>();
  const known = new Map<string, Known>();
  const provider: vscode.InlayHintsProvider = {
    onDidChangeInlayHints: changed.event,
    async provideInlayHints(document, range, token) {
      if (!isEnabled(document.uri)) return [];
      try {
        return await hintsFor(document, range, token, requests, partsOf(known, document));
      } catch (error) {
        if (!token.isCancellationRequested) log.debug(`Hints: ${messageOf(error)}`);
        return [];
      }
    },
  };
  return vscode.Disposable.from(
    changed,
    vscode.languages.registerInlayHintsProvider(documentSelector, provider),
    vscode.workspace.onDidCloseTextDocument(document => known.delete(document.uri.toString())),
    vscode.workspace.onDidChangeConfiguration(change => {
      if (!change.affectsConfiguration(`${section}.${setting.inlayHints}`)) return;
      known.clear();
      changed.fire();
    }),
  );
}

function isEnabled(uri: vscode.Uri): boolean {
  return vscode.workspace.getConfiguration(section, uri).get<boolean>(setting.inlayHints, false);
}

function partsOf(known: Map<string, Known>, document: vscode.TextDocument): Known['parts'] {
  const key = document.uri.toString();
  let own = known.get(key);
  if (own?.version !== document.version) known.set(key, (own = { version: document.version, parts: new Map() }));
  return own.parts;
}

async function hintsFor(
  document: vscode.TextDocument,
  range: vscode.Range,
  token: vscode.CancellationToken,
  requests: DefinitionRequests,
  parts: Known['parts'],
): Promise<vscode.InlayHint[]> {
  const places: { readonly place: NamedPlace; readonly key: string }[] = [];
  const last = Math.min(range.end.line, range.start.line + mostLines, document.lineCount - 1);
  for (let line = range.start.line; line <= last; line++) {
    const { text } = document.lineAt(line);
    for (const name of namesIn(text, document.languageId)) {
      const place = name.isCall ? requests.placeOf(document, line, name) : undefined;
      if (place) places.push({ place, key: sharedUse(text, name) ?? `${line}:${name.start}` });
    }
  }
  const hints: vscode.InlayHint[] = [];
  let asked = 0;
  for (const { place, key } of places) {
    if (token.isCancellationRequested || hints.length >= mostHints) break;
    if (!parts.has(key)) {
      if (asked++ >= mostNames) continue;
      const reply = await requests.ask(document, place, token);
      const only = reply?.certainty === 'one' ? reply.candidates[0] : undefined;
      parts.set(key, only && partOf(place.folder, only));
    }
    const part = parts.get(key);
    if (!part) continue;
    const hint = new vscode.InlayHint(place.range.end, [part]);
    hint.paddingLeft = true;
    hints.push(hint);
  }
  return hints;
}

function partOf(folder: vscode.WorkspaceFolder, candidate: DefinitionCandidate): vscode.InlayHintLabelPart {
  const part = new vscode.InlayHintLabelPart(hintText(candidate));
  part.location = locationOf(folder, candidate);
  return part;
}
