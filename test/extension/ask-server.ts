/** What the tests of the Ask view's session share: a fake server, a session over it, one answer. */
import { AskSession, type AskPorts } from '../../src/extension/ask-session.js';
import { QuestionHistory } from '../../src/extension/question-history.js';
import type { WorkListener } from '../../src/extension/server-client.js';
import type { AskReply, ToAskView } from '../../src/protocol/index.js';

export const recalled = [{ path: 'lib/a.js', startLine: 3, endLine: 9, score: 2 }];
export const reply: AskReply = {
  answer: 'It is in `lib/a.js:4`.\n\n2 of 2 files read, 0 stale, 0 skipped',
  recalled,
  citations: [{ path: 'lib/a.js', startLine: 4, endLine: 4, ok: true }],
  unknownNames: [],
  coverage: { total: 2, read: 2, stale: 0, waiting: 0, coarse: 0, skipped: 0 },
  timing: { readMs: 900, firstTokenMs: 1340, totalMs: 2000, readTokens: 120, writtenTokens: 8 },
  model: 'tiny',
  provider: 'cpu',
};
export const offer = {
  name: 'tiny',
  installed: false,
  downloadBytes: 99e6,
  diskBytes: 136e6,
  source: 'PyPI',
  license: 'Apache-2.0',
};

export interface Call {
  readonly method: string;
  readonly params: object;
  readonly listener: WorkListener | undefined;
  readonly answer: (reply: unknown) => void;
  readonly fail: (error: Error) => void;
}

/** A server that answers when the test says so; cancelled requests fail at once. */
export class FakeServer {
  readonly calls: Call[] = [];
  isInstalled = true;

  readonly request: AskPorts['client']['request'] = (method, params, token, listener) => {
    if (method === 'longview/model') return Promise.resolve({ ...offer, installed: this.isInstalled } as never);
    return new Promise<never>((answer, fail) => {
      token.onCancellationRequested(() => fail(failure('cancelled', 'Cancelled.')));
      this.calls.push({ method, params, listener, answer: answer as Call['answer'], fail });
    });
  };

  get last(): Call {
    return this.calls.at(-1)!;
  }
}

export function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { data: { code } });
}

/** Lets what is waiting run. */
export const settle = (): Promise<void> => new Promise(done => setImmediate(done));

/** Over folders `a` and `b`; `posted` are its messages to the view. */
export function sessionOver(server: FakeServer): { session: AskSession; posted: ToAskView[] } {
  const posted: ToAskView[] = [];
  const kept = new Map<string, unknown>();
  const store = {
    get: (key: string) => kept.get(key),
    update: (key: string, value: unknown) => Promise.resolve(void kept.set(key, value)),
  };
  const session = new AskSession({
    client: server,
    history: new QuestionHistory(store),
    folders: () => [
      { uri: 'file:///a', label: 'a' },
      { uri: 'file:///b', label: 'b' },
    ],
    post: message => posted.push(message),
    answered: () => undefined,
    can: remedy => remedy !== 'chooseModel',
    log: () => undefined,
    t: (message, ...filled) => message.replace(/\{(\d)\}/g, (_, at: string) => String(filled[Number(at)])),
  });
  return { session, posted };
}
