/**
 * The requests of `protocol`, answered over one connection. Long work goes through the queue, so a ping and a cancellation
 * are answered while it runs. Catches once for each request: a failure becomes that request's error, never the server's end.
 */
import { fileURLToPath } from 'node:url';
import { LSPErrorCodes, ResponseError, type CancellationToken, type Connection } from 'vscode-languageserver/node';
import { LongviewError, codeOf, messageOf, type Log } from '../base/index.js';
import {
  event,
  method,
  type AskParams,
  type Failure,
  type FolderParams,
  type ForgetParams,
  type LogEvent,
  type PingReply,
  type ProgressEvent,
  type RecalledEvent,
  type TextEvent,
  type WorkParams,
} from '../protocol/index.js';
import type { Backend, Work } from './backend.js';
import { WorkQueue, type Priority } from './queue.js';

/** Progress is sent at most this often. */
const progressEveryMs = 100;

/** Registers the handlers; `backend` is called for at the first request that needs it. */
export function registerHandlers(connection: Connection, backend: () => Backend): void {
  const queue = new WorkQueue();

  const work = async <T>(
    params: { readonly id: string },
    token: CancellationToken,
    name: string,
    priority: Priority,
    run: (work: Work) => Promise<T>,
  ): Promise<T | ResponseError<Failure>> => {
    const { signal, dispose } = toSignal(token);
    try {
      const onProgress = progressSender(connection, params.id);
      return await queue.run(name, priority, signal, () => run({ signal, onProgress }));
    } catch (error) {
      return toResponseError(error);
    } finally {
      dispose();
    }
  };

  connection.onRequest(method.ping, (): PingReply => ({
    process: process.pid,
    ...(queue.current === undefined ? {} : { task: queue.current }),
    waiting: queue.waiting,
  }));

  connection.onRequest(method.ask, (params: AskParams, token: CancellationToken) => {
    const recalled = (places: RecalledEvent['recalled']): void =>
      void connection.sendNotification(event.recalled, { id: params.id, recalled: places } satisfies RecalledEvent);
    const text = (piece: string): void =>
      void connection.sendNotification(event.text, { id: params.id, text: piece } satisfies TextEvent);
    const question = { question: params.question, now: params.now ?? false, maxTokens: params.maxTokens };
    return work(params, token, 'ask', 'user', base =>
      backend().ask(rootOf(params), question, { ...base, onRecalled: recalled, onText: text }),
    );
  });

  connection.onRequest(method.read, (params: WorkParams, token: CancellationToken) =>
    work(params, token, 'read', 'background', base => backend().read(rootOf(params), base)),
  );
  connection.onRequest(method.status, (params: WorkParams, token: CancellationToken) =>
    work(params, token, 'status', 'user', base => backend().status(rootOf(params), base)),
  );
  connection.onRequest(method.forget, (params: ForgetParams, token: CancellationToken) =>
    work(params, token, 'forget', 'user', async base => {
      await backend().forget(rootOf(params), params.path, base);
      return null;
    }),
  );
  connection.onRequest(method.installModel, (params: { readonly id: string }, token: CancellationToken) =>
    work(params, token, 'install model', 'user', base => backend().installModel(base)),
  );
  connection.onRequest(method.model, async () => {
    try {
      return await backend().model();
    } catch (error) {
      return toResponseError(error);
    }
  });
}

/** Log lines go to the client, which shows them in its output channel. */
export function connectionLog(connection: Connection): Log {
  return (level, message) => void connection.sendNotification(event.log, { level, message } satisfies LogEvent);
}

function rootOf(params: FolderParams): string {
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
