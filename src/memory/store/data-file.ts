/**
 * A look at LMDB's data file before LMDB maps it: LMDB trusts its pages, so a foreign, cut-off or damaged file would end
 * the process instead of giving an error, or be written on. Never writes and never opens the environment.
 */
import { closeSync, fstatSync, openSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../../base/index.js';
import { NO_PAGE, PageFile, readMeta } from './page-file.js';
import type { Meta } from './page-file.js';
import { walkPages } from './page-walk.js';

export type DataFileState =
  /** None, or empty. */
  | { readonly state: 'fresh' }
  | { readonly state: 'sound' }
  /** LMDB must not open it. */
  | { readonly state: 'damaged'; readonly reason: string };

/** The meta pages as far as they make sense; the newest says what the file holds. */
export interface MetaPages {
  /** Bytes of a page, if any meta page tells. */
  readonly pageSize: number | undefined;
  readonly newest: Meta | undefined;
  readonly oldest: Meta | undefined;
  /** What is wrong with them. */
  readonly fault: string | undefined;
}

/** In the order of how often they are met. */
export const PAGE_SIZES = [4096, 8192, 16384, 32768, 65536, 2048, 1024, 512];
const TRIES_BESIDE_A_WRITER = 3;
const WAIT_MS = 20;

/**
 * `alone`: no process has the file open; then all pages are followed. Beside a writer pages change, and only the meta pages
 * are looked at.
 */
export async function inspectDataFile(path: string, alone: boolean): Promise<DataFileState> {
  for (let tries = 1; ; tries++) {
    const metas = readMetas(path);
    if (metas === undefined) return { state: 'fresh' };
    if (alone) {
      const reason = await faultOf(path, metas);
      return reason === undefined ? { state: 'sound' } : { state: 'damaged', reason };
    }
    if (metas.fault === undefined) return { state: 'sound' };
    // Perhaps half of what another process was writing.
    if (tries === TRIES_BESIDE_A_WRITER) return { state: 'damaged', reason: metas.fault };
    await sleep(WAIT_MS);
  }
}

/** `undefined`: there is no file, or it is empty. Throws where it may not be read. */
export function readMetas(path: string): MetaPages | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'not-found') return undefined;
    throw error;
  }
  try {
    if (fstatSync(descriptor).size === 0) return undefined;
    const first = checkedMeta(readMeta(descriptor, 0), 0);
    if (typeof first === 'string') {
      // The second page says how large pages are, where it lies there.
      for (const pageSize of PAGE_SIZES) {
        const second = checkedMeta(readMeta(descriptor, pageSize), 1);
        if (typeof second !== 'string' && second.pageSize === pageSize) {
          return { pageSize, newest: second, oldest: undefined, fault: first };
        }
      }
      return { pageSize: undefined, newest: undefined, oldest: undefined, fault: first };
    }
    const { pageSize } = first;
    const second = checkedMeta(readMeta(descriptor, pageSize), 1);
    if (typeof second === 'string') return { pageSize, newest: first, oldest: undefined, fault: second };
    const [newest, oldest] = second.transaction > first.transaction ? [second, first] : [first, second];
    return { pageSize, newest, oldest, fault: second.pageSize === pageSize ? undefined : 'two page sizes' };
  } finally {
    closeSync(descriptor);
  }
}

function checkedMeta(meta: Meta | string, position: 0 | 1): Meta | string {
  if (typeof meta === 'string') return meta;
  const { pageSize, transaction, free, main, lastPage } = meta;
  if (!PAGE_SIZES.includes(pageSize)) return `page size ${pageSize}`;
  // A new file has 0 in both.
  if (transaction !== 0 && transaction % 2 !== position) return `transaction ${transaction} in the other meta page`;
  const roots = [free.root, main.root].filter(root => root !== NO_PAGE);
  return roots.some(root => root < 2 || root > lastPage) ? 'a root that is no page' : meta;
}

async function faultOf(path: string, metas: MetaPages): Promise<string | undefined> {
  const { newest, oldest, pageSize } = metas;
  if (newest === undefined || oldest === undefined || pageSize === undefined || metas.fault !== undefined) {
    return metas.fault ?? 'no meta page';
  }
  if (newest.transaction - oldest.transaction > 1) return 'meta pages of two times';
  const file = PageFile.open(path, pageSize);
  try {
    // What an older meta page leads to is never newer: else its number is wrong, and it may be the newer one.
    for (const root of [oldest.main.root, oldest.free.root]) {
      const page = root === NO_PAGE ? undefined : file.page(root);
      if (typeof page === 'string') return page;
      if (page !== undefined && page.transaction > oldest.transaction) return `page ${root} is of another time`;
    }
    return (await walkPages(file, newest, { atFirst: true })).faults[0];
  } finally {
    file.close();
  }
}
