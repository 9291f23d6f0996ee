/** The line an answer ends with: how much of the folder it rests on. Never hides what was left out. */
import type { Coverage } from '../memory/index.js';

const counted = new Intl.NumberFormat('en-US');

/** E.g. `1,204 of 1,310 files read, 3 stale, 91 skipped`; waiting and coarse files are named when there are any. */
export function coverageLine(coverage: Coverage): string {
  const count = (n: number): string => counted.format(n);
  const parts = [`${count(coverage.read)} of ${count(coverage.total)} files read`, `${count(coverage.stale)} stale`];
  if (coverage.waiting > 0) parts.push(`${count(coverage.waiting)} waiting`);
  if (coverage.coarse > 0) parts.push(`${count(coverage.coarse)} coarse`);
  parts.push(`${count(coverage.skipped)} skipped`);
  return parts.join(', ');
}
