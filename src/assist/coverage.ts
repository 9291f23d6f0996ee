/** The line an answer ends with: how much of the folder it rests on. Never hides what was left out. */
import { skippedOf, type Coverage, type FileStatus } from '../memory/index.js';

const counted = new Intl.NumberFormat('en-US');

/** E.g. `1,204 of 1,310 files read, 3 stale, 91 skipped`; what was read in part, waits or is coarse is named when there is any. */
export function coverageLine(coverage: Coverage): string {
  const count = (n: number): string => counted.format(n);
  const partly = coverage.partly === undefined ? '' : ` (${count(coverage.partly)} of them in part)`;
  const read = `${count(coverage.read)} of ${count(coverage.total)} files read${partly}`;
  const parts = [read, `${count(coverage.stale)} stale`];
  if (coverage.waiting > 0) parts.push(`${count(coverage.waiting)} waiting`);
  if (coverage.coarse > 0) parts.push(`${count(coverage.coarse)} coarse`);
  parts.push(`${count(coverage.skipped)} skipped`);
  return parts.join(', ');
}

/** Files that are named one by one. */
const MOST_NAMED = 3;

/** What of these files no sentence can be about, e.g. `Not read: 2 no text, 1 encrypted.`; undefined where there is nothing. */
export function leftOut(files: readonly FileStatus[]): string | undefined {
  const parts: string[] = [];
  const skipped = reasonsLine(skippedOf(files));
  if (skipped !== '') parts.push(`Not read: ${skipped}.`);
  const partly = files.filter(({ state, reason }) => state === 'read' && reason !== undefined);
  const named = partly.slice(0, MOST_NAMED).map(({ path, reason }) => `\`${path}\` (${reason})`);
  if (partly.length > MOST_NAMED) named.push(`${counted.format(partly.length - MOST_NAMED)} more`);
  if (named.length > 0) parts.push(`Read in part: ${named.join(', ')}.`);
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** E.g. `12 ignored, 3 binary`. */
export function reasonsLine(skipped: Readonly<Record<string, number>>): string {
  return Object.entries(skipped)
    .map(([reason, files]) => `${counted.format(files)} ${reason}`)
    .join(', ');
}
