/**
 * `@longview` in the chat view: ask, summarize, recall. Answers come from the server, none of the chat's history is sent, and
 * no other language model is used. What is shown was checked: nothing appears before the places in it were.
 */
import * as vscode from 'vscode';
import { messageOf } from '../base/index.js';
import { method, type Place, type ProgressEvent, type SummarySentence, type SummaryTarget } from '../protocol/index.js';
import { isDocument, placeShown, placeText } from './answer-text.js';
import { answerParts, coverageText, fencedFile, plainMarkdown } from './chat-text.js';
import { folderNamed } from './folder-choice.js';
import { chatParticipant } from './ids.js';
import { ProgressLine } from './progress-line.js';
import type { Services } from './services.js';
import { targetOfLocation, targetOfPath, targetOfUri } from './summary-target.js';
import { requireTrust } from './trust.js';

/** A line of progress at most this often, but always the first of a task. */
const progressEveryMs = 2000;
const placesShown = 8;

export function activateChatParticipant(services: Services): vscode.Disposable {
  const participant = vscode.chat.createChatParticipant(chatParticipant, (request, _context, stream, token) =>
    respond(services, request, stream, token),
  );
  participant.iconPath = vscode.Uri.joinPath(services.context.extensionUri, 'media', 'icon.png');
  return vscode.Disposable.from(participant);
}

async function respond(
  { client, models, log }: Services,
  request: vscode.ChatRequest,
  stream: vscode.ChatResponseStream,
  token: vscode.CancellationToken,
): Promise<vscode.ChatResult> {
  try {
    requireTrust();
    const folder = folderOfRequest(request);
    const answer = new ChatAnswer(folder, stream);
    const needsWords = request.command !== 'summarize';
    if (needsWords && request.prompt.trim() === '') {
      return { errorDetails: { message: vscode.l10n.t('Write what you want to know.') } };
    }
    if (!(await models.ensure())) {
      return { errorDetails: { message: vscode.l10n.t('Longview needs a model before it can answer.') } };
    }
    const listener = { onProgress: progressOf(stream) };
    const folderUri = folder.uri.toString();
    if (request.command === 'recall') {
      const params = { folder: folderUri, question: request.prompt, limit: placesShown };
      const { places, coverage } = await client.request(method.recall, params, token, listener);
      for (const place of places) answer.placeWithText(place, place.text);
      if (places.length === 0) answer.text(vscode.l10n.t('Nothing was found in the files that were read.'));
      answer.text(`\n\n${coverageText(coverage)}`);
    } else if (request.command === 'summarize') {
      const params = { folder: folderUri, target: await targetOfRequest(folder, request) };
      let shown = 0;
      const onSentence = (sentence: SummarySentence): void => {
        shown++;
        answer.sentence(sentence);
      };
      const reply = await client.request(method.summarize, params, token, { ...listener, onSentence });
      for (const sentence of reply.summary.slice(shown)) answer.sentence(sentence);
      answer.text(`\n\n${coverageText(reply.coverage)}`);
    } else {
      const onRecalled = (places: readonly Place[]): void => {
        for (const place of places) answer.reference(place);
        stream.progress(vscode.l10n.t('Writing the answer'));
      };
      const params = { folder: folderUri, question: request.prompt };
      const reply = await client.request(method.ask, params, token, { ...listener, onRecalled });
      for (const part of answerParts(reply.answer, reply.citations)) {
        if ('place' in part) answer.place(part.place);
        else answer.markdown(part.markdown);
      }
    }
    return { metadata: { places: answer.places } };
  } catch (error) {
    if (token.isCancellationRequested) return {};
    const message = messageOf(error);
    log.error(message);
    return { errorDetails: { message } };
  }
}

/** Puts text and places into a response: text as untrusted markdown, places as links to the folder's files. */
class ChatAnswer {
  /** Shown so far, as `path:line-line`. */
  readonly places: string[] = [];

  constructor(
    private readonly folder: vscode.WorkspaceFolder,
    private readonly stream: vscode.ChatResponseStream,
  ) {}

  markdown(text: string): void {
    // A MarkdownString is untrusted unless it is told otherwise: no command, no HTML.
    this.stream.markdown(new vscode.MarkdownString(text));
  }

  text(text: string): void {
    this.markdown(plainMarkdown(text));
  }

  place(place: Place): void {
    this.places.push(placeText(place));
    const name = place.path.slice(place.path.lastIndexOf('/') + 1);
    this.stream.anchor(this.locationOf(place), placeShown({ ...place, path: name }));
  }

  reference(place: Place): void {
    this.stream.reference(this.locationOf(place));
  }

  placeWithText(place: Place, text: string): void {
    this.reference(place);
    this.place(place);
    this.markdown(`\n\n${fencedFile(text, place.path)}\n\n`);
  }

  sentence({ text, places }: SummarySentence): void {
    this.markdown(`\n- ${plainMarkdown(text)} `);
    for (const place of places) {
      this.place(place);
      this.markdown(' ');
    }
  }

  private locationOf({ path, startLine, endLine }: Place): vscode.Location | vscode.Uri {
    const uri = vscode.Uri.joinPath(this.folder.uri, path);
    if (isDocument(path)) return uri;
    return new vscode.Location(uri, new vscode.Range(startLine - 1, 0, endLine - 1, Number.MAX_SAFE_INTEGER));
  }
}

/** Where the user attached something, its folder; else as the tools choose. */
function folderOfRequest(request: vscode.ChatRequest): vscode.WorkspaceFolder {
  for (const { value } of request.references) {
    const uri = value instanceof vscode.Location ? value.uri : value instanceof vscode.Uri ? value : undefined;
    const folder = uri && vscode.workspace.getWorkspaceFolder(uri);
    if (folder?.uri.scheme === 'file') return folder;
  }
  return folderNamed(undefined);
}

/** What is attached; else a path in the words; else everything. */
async function targetOfRequest(folder: vscode.WorkspaceFolder, request: vscode.ChatRequest): Promise<SummaryTarget> {
  for (const { value } of request.references) {
    if (value instanceof vscode.Location) return targetOfLocation(folder, value);
    if (value instanceof vscode.Uri) return targetOfUri(folder, value);
  }
  const path = request.prompt.trim();
  return path === '' ? { kind: 'workspace' } : targetOfPath(folder, path);
}

function progressOf(stream: vscode.ChatResponseStream): (progress: ProgressEvent) => void {
  const line = new ProgressLine(vscode.l10n.t);
  let task = '';
  let last = 0;
  return progress => {
    // It reckons the time left from every report.
    const shown = line.show(progress).progress;
    const now = Date.now();
    if (progress.task === task && now - last < progressEveryMs) return;
    task = progress.task;
    last = now;
    stream.progress(shown);
  };
}
