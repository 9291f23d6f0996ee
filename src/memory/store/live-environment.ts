/**
 * The environment of an open store for as long as the store is open: where LMDB chokes on a broken page, the call fails with
 * a line that says to try again, and the environment is closed, checked, built anew and opened behind it. Never looks into
 * values.
 */
import { LongviewError, messageOf } from '../../base/index.js';
import type { Log } from '../../base/index.js';
import { isDamage, storeError } from './databases.js';
import { openEnvironment } from './environment.js';
import type { Environment } from './environment.js';

export class LiveEnvironment {
  private closed = false;
  /** Until an environment whose pages LMDB choked on is open again. */
  private repairing: Promise<void> | undefined;

  private constructor(
    readonly folder: string,
    private readonly log: Log,
    /** Makes an environment that was opened ready for use. */
    private readonly prepare: (environment: LiveEnvironment) => void,
    private opened: Environment | undefined,
  ) {}

  /** Throws as `openEnvironment`. */
  static async open(
    folder: string,
    log: Log,
    prepare: (environment: LiveEnvironment) => void,
  ): Promise<LiveEnvironment> {
    const live = new LiveEnvironment(folder, log, prepare, await openEnvironment(folder, { log }));
    try {
      prepare(live);
    } catch (error) {
      await live.close();
      throw error;
    }
    return live;
  }

  /** Throws `locked` while it is repaired, `internal` when it is closed. */
  get now(): Environment {
    if (this.closed) throw new LongviewError('internal', `The store in ${this.folder} is closed.`);
    if (this.opened !== undefined) return this.opened;
    this.reopen(true);
    throw this.notReady(undefined);
  }

  /** Why nothing can be written; `undefined` where it can. */
  get readOnly(): string | undefined {
    return this.opened?.readOnly?.reason;
  }

  /** To be awaited before writing, so that a repair does not fail what can wait. */
  async ready(): Promise<void> {
    // Perhaps there is room, or a permission, by now.
    if (this.readOnly !== undefined) this.reopen(false);
    if (this.repairing !== undefined) await this.repairing;
  }

  look<T>(look: (environment: Environment) => T): T {
    const { now } = this;
    try {
      return look(now);
    } catch (error) {
      throw this.failure(error);
    }
  }

  /** Runs `action` in one transaction, which is on the disk afterwards, or nothing of it when this throws. */
  commit(action: (environment: Environment) => void): void {
    const { now } = this;
    if (now.readOnly !== undefined) {
      throw new LongviewError(
        now.readOnly.code,
        `The memory in ${this.folder} cannot be written: ${now.readOnly.reason}; answers use what was read before.`,
      );
    }
    try {
      now.root.transactionSync(() => action(now));
    } catch (error) {
      throw this.failure(error);
    }
  }

  async close(): Promise<void> {
    await this.repairing;
    if (this.closed) return;
    this.closed = true;
    await this.opened?.close();
  }

  private failure(error: unknown): Error {
    if (!isDamage(error)) return storeError(error, this.folder);
    this.log('warning', `The store in ${this.folder} failed (${messageOf(error)}); it is checked.`);
    this.reopen(true);
    return this.notReady(error);
  }

  private reopen(isDamaged: boolean): void {
    if (this.repairing !== undefined) return;
    const reopened = async (): Promise<void> => {
      const before = this.opened;
      this.opened = undefined;
      await before?.close();
      this.opened = await openEnvironment(this.folder, { log: this.log, isDamaged });
      this.prepare(this);
    };
    this.repairing = reopened()
      .catch((error: unknown) => this.log('warning', messageOf(error)))
      .finally(() => (this.repairing = undefined));
  }

  private notReady(cause: unknown): LongviewError {
    const message = `The store in ${this.folder} is being checked after a failure. Try again.`;
    return new LongviewError('locked', message, { cause });
  }
}
