/**
 * The tools longview_recall, longview_ask and longview_summarize, for whatever agent works in this editor. Their results are
 * plain text with `path:line`. They never install a model and never read in Restricted Mode: they say what the user can do.
 */
import * as vscode from 'vscode';
import { method } from '../protocol/index.js';
import { recallText, summaryText } from './chat-text.js';
import { folderNamed } from './folder-choice.js';
import { tool } from './ids.js';
import type { ServerClient } from './server-client.js';
import type { Services } from './services.js';
import { targetOfPath } from './summary-target.js';
import { requireTrust } from './trust.js';

interface FolderInput {
  readonly folder?: string;
}

interface RecallInput extends FolderInput {
  readonly question: string;
  readonly limit?: number;
}

interface AskInput extends FolderInput {
  readonly question: string;
  readonly maxTokens?: number;
  readonly readSeconds?: number;
}

interface SummarizeInput extends FolderInput {
  readonly path?: string;
  readonly since?: string;
  readonly maxSentences?: number;
  readonly readSeconds?: number;
}

/** Time to read new and changed files where the caller does not say. What was read is kept. */
const defaultReadSeconds = 30;
const defaultPlaces = 8;

export function activateLanguageModelTools({ client }: Services): vscode.Disposable {
  return vscode.Disposable.from(
    register<RecallInput>(tool.recall, client, {
      says: ({ question }) => vscode.l10n.t('Recalling places for "{0}"', question),
      run: async ({ question, limit = defaultPlaces }, folder, token) =>
        recallText(await client.request(method.recall, { folder: uriOf(folder), question, limit }, token)),
    }),
    register<AskInput>(tool.ask, client, {
      says: ({ question }) => vscode.l10n.t('Asking Longview: "{0}"', question),
      run: async ({ question, maxTokens, readSeconds }, folder, token) => {
        await readFor(readSeconds, client, folder, token);
        const params = { folder: uriOf(folder), question, maxTokens, now: true };
        return (await client.request(method.ask, params, token)).answer;
      },
    }),
    register<SummarizeInput>(tool.summarize, client, {
      says: ({ path, since }) =>
        since === undefined
          ? vscode.l10n.t('Summarizing {0}', path ?? vscode.l10n.t('the workspace'))
          : vscode.l10n.t('Summarizing changes since {0}', since),
      run: async ({ path, since, maxSentences, readSeconds }, folder, token) => {
        const target =
          since !== undefined
            ? ({ kind: 'changes', since } as const)
            : path === undefined
              ? ({ kind: 'workspace' } as const)
              : await targetOfPath(folder, path);
        // What git does not know is said before anything is read.
        if (since !== undefined) await client.request(method.commit, { folder: uriOf(folder), since }, token);
        await readFor(readSeconds, client, folder, token);
        return summaryText(
          await client.request(method.summarize, { folder: uriOf(folder), target, maxSentences }, token),
        );
      },
    }),
  );
}

interface Work<Input> {
  /** What the user sees while it runs. */
  readonly says: (input: Input) => string;
  readonly run: (input: Input, folder: vscode.WorkspaceFolder, token: vscode.CancellationToken) => Promise<string>;
}

function register<Input extends FolderInput>(name: string, client: ServerClient, work: Work<Input>): vscode.Disposable {
  return vscode.lm.registerTool<Input>(name, {
    // No confirmation of its own: it changes nothing but Longview's memory, and nothing leaves the machine.
    prepareInvocation: ({ input }) => ({ invocationMessage: work.says(input) }),
    invoke: async ({ input }, token) => {
      requireTrust();
      const folder = folderNamed(input.folder);
      const { installed } = await client.request(method.model, {}, token);
      if (!installed) {
        throw new Error(
          vscode.l10n.t('Longview has no model yet. The user can install one with "Longview: Choose Model…".'),
        );
      }
      const text = await work.run(input, folder, token);
      return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(text)]);
    },
  });
}

/** Reads what is new or changed, but no longer than that. */
async function readFor(
  seconds: number | undefined,
  client: ServerClient,
  folder: vscode.WorkspaceFolder,
  token: vscode.CancellationToken,
): Promise<void> {
  const most = Math.min(Math.max(seconds ?? defaultReadSeconds, 0), 3600);
  if (most === 0) return;
  const enough = new vscode.CancellationTokenSource();
  const timer = setTimeout(() => enough.cancel(), most * 1000);
  const stopping = token.onCancellationRequested(() => enough.cancel());
  try {
    await client.request(method.read, { folder: uriOf(folder) }, enough.token);
  } catch (error) {
    if (!enough.token.isCancellationRequested || token.isCancellationRequested) throw error;
  } finally {
    clearTimeout(timer);
    stopping.dispose();
    enough.dispose();
  }
}

function uriOf(folder: vscode.WorkspaceFolder): string {
  return folder.uri.toString();
}
