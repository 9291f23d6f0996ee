/** What the user reads about the state of reading, in the status bar and its tooltip. Pure but for translation. */
import * as vscode from 'vscode';
import { duration } from './progress-line.js';
import type { ReadingState } from './reading.js';

export interface StatusText {
  /** With a product icon. */
  readonly text: string;
  readonly tooltip: string;
  readonly warning: boolean;
}

export function statusText(state: ReadingState): StatusText {
  const plain = (text: string, tooltip: string): StatusText => ({ text, tooltip, warning: false });
  switch (state.kind) {
    case 'idle':
      return plain('$(book) Longview', vscode.l10n.t('Longview has not read this workspace yet.'));
    case 'noFolder':
      return plain('$(book) Longview', vscode.l10n.t('Longview reads folders on disk. Open one first.'));
    case 'untrusted':
      return plain('$(shield) Longview', vscode.l10n.t('Longview reads nothing in Restricted Mode.'));
    case 'noModel':
      return { text: '$(book) Longview', tooltip: vscode.l10n.t('Longview needs a model once.'), warning: true };
    case 'onBattery':
      return plain('$(plug) Longview', vscode.l10n.t('Waiting: on battery. Read Now reads all the same.'));
    case 'paused':
      return plain('$(debug-pause) Longview', vscode.l10n.t('Longview paused. What was read is kept.'));
    case 'problem':
      return { text: '$(warning) Longview', tooltip: state.message, warning: true };
    case 'ready': {
      const { read, total, skipped } = state.coverage;
      return plain(
        '$(book) Longview',
        vscode.l10n.t('Longview has read {0} of {1} files, {2} skipped.', read, total, skipped),
      );
    }
    case 'reading': {
      const percent = state.fraction === undefined ? '' : ` ${Math.floor(state.fraction * 100)} %`;
      const left = state.secondsLeft === undefined ? '' : ` · ${duration(state.secondsLeft, vscode.l10n.t)}`;
      const { item, task, total } = state.progress ?? {};
      // E.g. the wait for another window that reads.
      const stage = total === undefined ? task : undefined;
      const more = [stage, item].filter(line => line !== undefined);
      return plain(
        `$(loading~spin) Longview${percent}${left}`,
        [vscode.l10n.t('Longview reads {0}.', state.folder), ...more].join('\n'),
      );
    }
  }
}
