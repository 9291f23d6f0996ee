/** The words of the Ask view in the editor's language: a webview has no access to them by itself. */
import * as vscode from 'vscode';
import type { AskStrings } from '../protocol/index.js';

export function askStrings(): AskStrings {
  const { t } = vscode.l10n;
  return {
    question: t('Question about the folder'),
    placeholder: t('Where is the retry limit decided?'),
    keys: t('Enter: ask · Shift+Enter: new line · ↑: earlier'),
    ask: t('Ask'),
    stop: t('Stop'),
    folder: t('Folder'),
    history: t('Earlier questions'),
    clearHistory: t('Clear'),
    aboutSelection: t('About {0}'),
    dropSelection: t('Do not ask about these lines'),
    recalled: t('Recalled'),
    answerNow: t('Answer from what is read'),
    copy: t('Copy'),
    copied: t('Copied'),
    openDocument: t('Open as Document'),
    empty: t(
      'Longview reads what it has not read yet, then answers with links to the lines it means. Nothing leaves this machine.',
    ),
    noFolder: vscode.workspace.isTrusted
      ? t('Longview reads folders on disk. Open one first.')
      : t('Trust this folder first: Longview reads nothing in Restricted Mode.'),
    modelNeeded: t('A model is needed once'),
    modelPromise: t('Longview needs a model once. After that nothing leaves this machine.'),
    install: t('Install'),
    installing: t('Installing the model'),
    cancel: t('Cancel'),
    kinds: {
      question: {
        result: t('Answer'),
        working: t('Looking for an answer'),
        complete: t('The answer is complete.'),
      },
      summary: {
        result: t('Summary'),
        working: t('Summarizing'),
        complete: t('The summary is complete.'),
      },
    },
    remedies: {
      askAgain: t('Ask Again'),
      summarizeAgain: t('Summarize Again'),
      showLog: t('Show Log'),
      chooseModel: t('Choose Model…'),
      install: t('Install Model'),
    },
  };
}
