/** States of the Ask view for its tests: words as the extension sends them, and one answered question. */
import type { AskState, AskStrings, BoxState, ExchangeView, Inline } from '../../src/protocol/index.js';

export const strings: AskStrings = {
  question: 'Question about the folder',
  placeholder: 'Where is the retry limit decided?',
  keys: 'Enter: ask · Shift+Enter: new line · ↑: earlier',
  ask: 'Ask',
  stop: 'Stop',
  folder: 'Folder',
  history: 'Earlier questions',
  clearHistory: 'Clear',
  aboutSelection: 'About {0}',
  dropSelection: 'Do not ask about these lines',
  recalled: 'Recalled',
  answerNow: 'Answer from what is read',
  copy: 'Copy',
  copied: 'Copied',
  openDocument: 'Open as Document',
  empty: 'Longview reads what it has not read yet, then answers with links to the lines it means.',
  noFolder: 'Longview reads folders on disk. Open one first.',
  modelNeeded: 'A model is needed once',
  modelPromise: 'Longview needs a model once. After that nothing leaves this machine.',
  install: 'Install',
  installing: 'Installing the model',
  cancel: 'Cancel',
  kinds: {
    question: { result: 'Answer', working: 'Looking for an answer', complete: 'The answer is complete.' },
    summary: { result: 'Summary', working: 'Summarizing', complete: 'The summary is complete.' },
  },
  remedies: {
    askAgain: 'Ask Again',
    summarizeAgain: 'Summarize Again',
    showLog: 'Show Log',
    chooseModel: 'Choose Model…',
    install: 'Install Model',
  },
};

export const box: BoxState = {
  folders: [{ uri: 'file:///w/shop', label: 'shop' }],
  folder: 'file:///w/shop',
  model: { kind: 'ready' },
  history: ['Where is the retry limit decided?', 'Which file\nparses arguments?', 'How are help texts formatted?'],
};

export const start = (state: Partial<AskState> = {}): object => ({
  type: 'start',
  strings,
  box,
  exchanges: [],
  ...state,
});

const recalled = [
  { path: 'src/net/retry.ts', startLine: 12, endLine: 40 },
  { path: 'docs/operations/limits-and-quotas.md', startLine: 3, endLine: 9 },
];

export const asked: ExchangeView = {
  id: 1,
  kind: 'question',
  title: 'Where is the retry limit decided?',
  phase: 'working',
  progress: 'Reading · 3 of 40 files · 12,000 of 90,000 tokens · 2 min left · src/net/socket.ts',
  fraction: 0.13,
  canAnswerNow: true,
  recalled: [],
  blocks: [],
  remedies: [],
};

export const recalling: ExchangeView = {
  ...asked,
  recalled,
  progress: 'Writing the answer',
  fraction: undefined,
  canAnswerNow: false,
};

export const answered: ExchangeView = {
  ...recalling,
  phase: 'done',
  progress: undefined,
  blocks: [
    {
      kind: 'paragraph',
      inlines: [
        { kind: 'text', text: 'The limit is ' },
        { kind: 'code', text: 'maxTries' },
        { kind: 'text', text: ', set in ' },
        { kind: 'place', text: 'src/net/retry.ts:14', place: { path: 'src/net/retry.ts', startLine: 14, endLine: 14 } },
        { kind: 'text', text: ' and ' },
        { kind: 'strong', inlines: [{ kind: 'text', text: 'not' }] },
        { kind: 'text', text: ' in ' },
        { kind: 'struck', text: 'src/net/retry.ts:900' },
        { kind: 'text', text: ' (the file has 61 lines).' },
      ],
    },
    {
      kind: 'list',
      ordered: false,
      items: [[{ kind: 'text', text: 'Each try waits longer.' }], [{ kind: 'text', text: 'The last one fails.' }]],
    },
    { kind: 'code', text: 'export const maxTries = 5; // a long line that has to scroll in its own box' },
  ],
  coverage: '38 of 40 files read, 0 stale, 2 skipped',
  figures: '12,000 tokens read · first word after 1.3 s · SmolLM2 135M on cpu',
};

const sentences: readonly (readonly Inline[])[] = (
  [
    ['A connection is tried again at most five times, and each time it waits twice as long.', 12, 40],
    ['The waiting times are kept in `delays`, so that a test can set them.', 44, 61],
    ['“Never tries again what the server refused.”', 63, 66],
  ] as const
).map(([text, startLine, endLine]) => [
  { kind: 'text', text: `${text} (` },
  {
    kind: 'place',
    text: `src/net/retry.ts:${startLine}-${endLine}`,
    place: { path: 'src/net/retry.ts', startLine, endLine },
  },
  { kind: 'text', text: ')' },
]);

/** While it is written, with its first `count` sentences. */
export function summarizing(count: number): ExchangeView {
  return {
    ...asked,
    id: 2,
    kind: 'summary',
    title: 'Summary of src/net/retry.ts',
    phase: count === 0 ? 'working' : 'writing',
    progress: 'Summarizing · src/net/retry.ts',
    fraction: count / sentences.length,
    canAnswerNow: false,
    blocks: count === 0 ? [] : [{ kind: 'list', ordered: false, items: sentences.slice(0, count) }],
  };
}

export const summarized: ExchangeView = {
  ...summarizing(sentences.length),
  phase: 'done',
  progress: undefined,
  fraction: undefined,
  coverage: 'The sentences are about 3 of 5 sections, 1 file. 38 of 40 files read, 0 stale, 2 skipped',
  figures: '0 tokens read · 6.1 s · SmolLM2 135M',
};
