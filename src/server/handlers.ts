/**
 * Which request of `protocol` is answered by which part of the backend. A table: no work is done here.
 * A new feature adds its lines here, its part of `Backend` in backend.ts and its live part beside live-backend.ts.
 */
import type { Connection } from 'vscode-languageserver/node';
import type { Disposable, Log } from '../base/index.js';
import {
  event,
  method,
  type ChangedEvent,
  type FolderParams,
  type LogEvent,
  type NoticeEvent,
  type RecalledEvent,
  type SentenceEvent,
  type TextEvent,
} from '../protocol/index.js';
import type { Backend } from './backend.js';
import { FolderWatches } from './folder-watches.js';
import { Requests, rootOf } from './requests.js';

/** Registers the handlers; `backend` is called for at the first request that needs it. What it returns ends their own work. */
export function registerHandlers(connection: Connection, backend: () => Backend, log: Log): Disposable {
  const requests = new Requests(connection);
  const watches = new FolderWatches({
    look: (at, paths, signal) => backend().lookAt(at, paths, signal),
    onLooked: (folder, { changes, waiting }) => {
      if (changes + waiting > 0)
        void connection.sendNotification(event.changed, { folder, waiting } satisfies ChangedEvent);
    },
    log,
  });
  connection.onDidChangeWatchedFiles(({ changes }) => watches.changed(changes.map(change => change.uri)));
  /** `looks`: what is asked looks for changes in the whole folder. */
  const root = (params: FolderParams, looks = false): string => {
    const path = rootOf(params);
    watches.opened(params.folder, path, looks);
    return path;
  };
  const { queue } = requests;
  requests.quick(method.ping, () =>
    Promise.resolve({
      process: process.pid,
      ...(queue.current === undefined ? {} : { task: queue.current }),
      waiting: queue.waiting,
    }),
  );
  requests.long(method.ask, 'ask', 'user', (params, work) => {
    const { id, question, now = false, maxTokens, selection } = params;
    const onRecalled = (recalled: RecalledEvent['recalled']): void =>
      void connection.sendNotification(event.recalled, { id, recalled } satisfies RecalledEvent);
    const onText = textSender(connection, id);
    return backend().ask(root(params, true), { question, now, maxTokens, selection }, { ...work, onRecalled, onText });
  });
  requests.long(method.summarize, 'summarize', 'user', (params, work) => {
    const { id, target, maxSentences } = params;
    const onSentence = (sentence: SentenceEvent['sentence']): void =>
      void connection.sendNotification(event.sentence, { id, sentence } satisfies SentenceEvent);
    return backend().summarize(root(params, true), { target, maxSentences }, { ...work, onSentence });
  });
  requests.quick(method.commit, async (params, signal) => ({
    commit: await backend().commitOf(rootOf(params), params.since, signal),
  }));
  requests.long(method.recall, 'recall', 'user', (params, work) =>
    backend().recall(root(params, true), params.question, params.limit, work),
  );
  requests.long(method.generate, 'generate', 'user', (params, work) =>
    backend().generate(params, { ...work, onText: textSender(connection, params.id) }),
  );
  requests.quick(method.countTokens, async ({ text }) => ({ tokens: await backend().countTokens(text) }));
  requests.long(method.read, 'read', 'background', (params, work) =>
    backend().read(root(params, params.walk !== false), params, work),
  );
  requests.long(method.status, 'status', 'user', (params, work) => backend().status(root(params, true), work));
  requests.quick(method.files, params => backend().files(root(params)));
  requests.quick(method.freshness, params => backend().freshness(root(params), params.path));
  requests.long(method.forget, 'forget', 'user', async (params, work) => {
    // Reading could bring back what is being forgotten; who asked for it asks again.
    queue.interruptBackground();
    await backend().forget(root(params), params.path, work);
    return null;
  });
  requests.long(method.exportMemory, 'export', 'user', (params, work) =>
    backend().exportMemory(rootOf(params), params.file, work),
  );
  requests.long(method.importMemory, 'import', 'user', (params, work) => {
    queue.interruptBackground(); // Reading would read what is about to come.
    return backend().importMemory(rootOf(params), params.files, work);
  });
  requests.long(method.installModel, 'install model', 'user', (params, work) => backend().installModel(params, work));
  requests.quick(method.recallAt, (params, signal) => backend().recallAt(root(params), params, signal));
  requests.quick(method.model, () => backend().model());
  requests.quick(method.models, () => backend().models());
  return watches;
}

function textSender(connection: Connection, id: string): (text: string) => void {
  return text => void connection.sendNotification(event.text, { id, text } satisfies TextEvent);
}

/** Log lines go to the client, which shows them in its output channel. */
export function connectionLog(connection: Connection): Log {
  return (level, message) => void connection.sendNotification(event.log, { level, message } satisfies LogEvent);
}

export function connectionNotice(connection: Connection): (message: string) => void {
  return message => void connection.sendNotification(event.notice, { message } satisfies NoticeEvent);
}
