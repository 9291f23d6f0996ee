/**
 * Who reads the workspace: one process of all that have the store open. The lease is a record in the store, taken and
 * renewed in write transactions, so two processes cannot both take it. It is advisory: memories are functions of what was
 * read, so two readers would only do the same work twice.
 *
 * A lease is stale if its process is gone, if another process has its number now, or if its heartbeat stopped (a process
 * that hangs or slept). On another host (a shared folder) only the heartbeat counts. Never kills or asks a process.
 */
import { randomUUID } from 'node:crypto';
import { messageOf } from '../../base/index.js';
import type { Disposable, Log } from '../../base/index.js';
import type { ByteDatabase } from './databases.js';
import { FrameKind, frameJson, unframeJson } from './frame.js';
import { isRunning, thisProcess } from './process-identity.js';
import type { ProcessIdentity } from './process-identity.js';

export interface ReaderLease extends Disposable {
  readonly pid: number;
  /** Aborted when the lease ended: disposed, or taken by another process. */
  readonly lost: AbortSignal;
}

/** Another living process has it. */
export interface HeldLease {
  readonly heldBy: number;
}

/** Milliseconds. */
export interface LeaseTimes {
  readonly beat: number;
  readonly stale: number;
}

interface LeaseRecord extends ProcessIdentity {
  /** Milliseconds since 1970. */
  readonly beatAt: number;
  /** Tells two stores of one process apart. */
  readonly token: string;
}

interface LeaseParts {
  /** The database of the environment that is open now. */
  readonly database: () => ByteDatabase;
  /** Runs an action in a write transaction; it says whether it has written. */
  readonly commit: (action: () => boolean) => void;
  readonly now: () => number;
  readonly log: Log;
  readonly times: LeaseTimes | undefined;
}

const DEFAULT_TIMES: LeaseTimes = { beat: 15_000, stale: 60_000 };
const LAYOUT_VERSION = 1;
const KEY = Buffer.from('reader');

export function takeLease(parts: LeaseParts): ReaderLease | HeldLease {
  const { database, commit, now, log } = parts;
  const times = parts.times ?? DEFAULT_TIMES;
  const own = { ...thisProcess(), token: randomUUID() };
  let heldBy: number | undefined;
  commit(() => {
    const holder = readLease(database());
    if (holder !== undefined && !isStale(holder, now(), times)) {
      heldBy = holder.pid;
      return false;
    }
    return writeLease(database(), { ...own, beatAt: now() });
  });
  if (heldBy !== undefined) return { heldBy };

  const ended = new AbortController();
  const beat = (): void => {
    try {
      commit(() => {
        if (readLease(database())?.token === own.token) return writeLease(database(), { ...own, beatAt: now() });
        end();
        return false;
      });
    } catch (error) {
      log('warning', `Could not renew the reader's lease: ${messageOf(error)}`);
    }
  };
  const timer = setInterval(beat, times.beat);
  timer.unref();
  const end = (): void => {
    clearInterval(timer);
    ended.abort();
  };
  return {
    pid: own.pid,
    lost: ended.signal,
    dispose: () => {
      if (ended.signal.aborted) return;
      end();
      try {
        commit(() => readLease(database())?.token === own.token && database().removeSync(KEY));
      } catch (error) {
        // It goes stale by itself.
        log('warning', `Could not give the reader's lease back: ${messageOf(error)}`);
      }
    },
  };
}

/** Number of the living process that has the lease. */
export function leaseHolder({
  database,
  now,
  times,
}: Pick<LeaseParts, 'database' | 'now' | 'times'>): number | undefined {
  const holder = readLease(database());
  return holder !== undefined && !isStale(holder, now(), times ?? DEFAULT_TIMES) ? holder.pid : undefined;
}

function isStale(lease: LeaseRecord, now: number, times: LeaseTimes): boolean {
  // A clock that was set back must not make a lease last forever.
  if (Math.abs(now - lease.beatAt) > times.stale) return true;
  return isRunning(lease) === false;
}

function readLease(database: ByteDatabase): LeaseRecord | undefined {
  const bytes = database.getBinary(KEY);
  if (bytes === undefined) return undefined;
  const lease = unframeJson(FrameKind.lease, LAYOUT_VERSION, bytes);
  return lease.ok ? (lease.value as LeaseRecord) : undefined;
}

function writeLease(database: ByteDatabase, lease: LeaseRecord): true {
  database.putSync(KEY, Buffer.from(frameJson(FrameKind.lease, LAYOUT_VERSION, lease).buffer));
  return true;
}
