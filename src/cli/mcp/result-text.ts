/**
 * Results of the MCP tools as plain text, for agents that do not take structured results. What stands in files is quoted
 * as data; nothing here becomes a link or a command.
 */
import { fenced } from '../../base/index.js';
import { coverageLine, placeInDocument, recalledPlace, type Place } from '../../assist/index.js';
import type { Coverage } from '../../memory/index.js';
import { plural, size } from '../text.js';

export function recallText(
  places: readonly (Place & { readonly text: string; readonly cut?: number })[],
  coverage: Coverage,
): string {
  const found = places.map(place => `${recalledPlace(place)}\n${fenced(place.text)}`);
  return [...(found.length > 0 ? found : ['Nothing was found.']), closing(coverage)].join('\n\n');
}

export function summaryText(
  summary: readonly { readonly text: string; readonly places: readonly Place[] }[],
  notes: readonly string[],
  coverage: Coverage,
): string {
  const lines = summary.map(({ text, places }) =>
    places.length === 0 ? `- ${text}` : `- ${text} (${places.map(placeInDocument).join(', ')})`,
  );
  const sentences = lines.length > 0 ? lines.join('\n') : 'There is nothing to summarize.';
  return [sentences, ...notes, closing(coverage)].join('\n\n');
}

export function statusText(
  folders: readonly {
    readonly folder: string;
    readonly coverage: Coverage;
    readonly tokens: number;
    readonly store: { readonly bytes: number };
  }[],
): string {
  return folders
    .map(
      ({ folder, coverage, tokens, store }) =>
        `${folder}: ${closing(coverage)}; ${plural(tokens, 'token')}, ${size(store.bytes)} on disk`,
    )
    .join('\n');
}

/** Coverage, and what to do where much is not read yet. */
function closing(coverage: Coverage): string {
  const unread = coverage.waiting + coverage.stale;
  const hint = unread === 0 ? '' : ' (longview_ask reads unread files first; `longview read DIR` reads all of them)';
  return `${coverageLine(coverage)}${hint}`;
}
