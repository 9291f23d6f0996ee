/**
 * How a request of `protocol` is answered: long work goes through the queue with progress and cancellation, quick work is
 * answered beside it. Catches once for each request: a failure becomes that request's error, never the server's end.
 */
import { fileURLToPath } from 'node:url';
import { LSPErrorCodes, ResponseError, type CancellationToken, type Connection } from 'vscode-languageserver/node';
import { LongviewError, codeOf, messageOf } from '../base/index.js';
import {
  event,
  type Failure,
  type FolderParams,
  type Method,
  type ParamsOf,
  type ProgressEvent,
  type ReplyOf,
} from '../protocol/index.js';
import type { Work } from './backend.js';
import { WorkQueue, type Priority } from './queue.js';

/** Progress is sent at most this often. */
const progressEveryMs = 100;

/** Requests whose params have the id under which the client hears of the work. */
type LongMethod = { [M in Method]: ParamsOf<M> extends { readonly id: string } ? M : never }[Method];

export class Requests {
  readonly queue = new WorkQueue();

  constructor(readonly connection: Connection) {}

  /** Work that waits for its turn, tells its progress and can be cancelled. `name` is shown by a ping. */
  long<M extends LongMethod>(
    method: M,
    name: string,
    priority: Priority,
    run: (params: ParamsOf<M>, work: Work) => Promise<ReplyOf<M>>,
  ): void {
    this.quick(method, (params, signal) => {
      const onProgress = progressSender(this.connection, params.id);
      return this.queue.run(name, priority, signal, own => run(params, { signal: own, onProgress }));
    });
  }

  /** Work of a few milliseconds, answered whatever else runs. */
  quick<M extends Method>(method: M, run: (params: ParamsOf<M>, signal: AbortSignal) => Promise<ReplyOf<M>>): void {
    this.connection.onRequest(
      method,
      async (...given: [params: ParamsOf<M>, token: CancellationToken] | [token: CancellationToken]) => {
        // A request without params comes with the token alone.
        const [params, token] = given.length === 2 ? given : [{} as ParamsOf<M>, given[0]];
        const { signal, dispose } = toSignal(token);
        try {
          return await run(params, signal);
        } catch (error) {
          return toResponseError(error);
        } finally {
          dispose();
        }
      },
    );
  }
}

/** Absolute path of a request's workspace folder. */
export function rootOf(params: FolderParams): string {
  try {
    return fileURLToPath(params.folder);
  } catch (cause) {
    throw new LongviewError('unsupported', `Only folders on disk can be read, not ${params.folder}`, { cause });
  }
}

function toSignal(token: CancellationToken): { signal: AbortSignal; dispose: () => void } {
  const controller = new AbortController();
  if (token.isCancellationRequested) controller.abort();
  const listening = token.onCancellationRequested(() => controller.abort());
  return { signal: controller.signal, dispose: () => listening.dispose() };
}

function toResponseError(error: unknown): ResponseError<Failure> {
  const code = codeOf(error);
  const number = code === 'cancelled' ? LSPErrorCodes.RequestCancelled : LSPErrorCodes.RequestFailed;
  return new ResponseError(number, messageOf(error), { code });
}

function progressSender(connection: Connection, id: string): Work['onProgress'] {
  let last = 0;
  let task = '';
  return progress => {
    const now = Date.now();
    const isEnd = progress.total !== undefined && progress.done >= progress.total;
    if (progress.task === task && !isEnd && now - last < progressEveryMs) return;
    last = now;
    task = progress.task;
    void connection.sendNotification(event.progress, { id, ...progress } satisfies ProgressEvent);
  };
}
