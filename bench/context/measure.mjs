// Reads a text once, then asks each of its questions of a copy of the session: the answer written greedily, and forced.
import { join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';

const built = path => import(join(root, 'out/src', path));
const { KvmSession, prefill } = await built('engine/session.js');

/** Tokens that a written answer may have more than the wanted one. */
const SPARE = 8;

/** `most`: longer texts would take more memory (GB) and hours than a machine of this kind has; `--anyway` reads them. */
export const SCHEDULES = {
  window: { name: 'window + sinks', schedule: { kind: 'windowOnly' } },
  fixed: { name: 'fixed 256', schedule: { kind: 'fixed', slots: 256 } },
  root: { name: '16·sqrt(T)', schedule: { kind: 'powerLaw', factor: 16, exponent: 0.5 } },
  even: { name: 'even 1:4', schedule: { kind: 'even', slots: 1, tokens: 4 } },
  kept: { name: 'nothing merged', schedule: { kind: 'keepEverything' }, most: 32768 },
  recalled: { name: 'recalled passages', recalled: true },
  full: { name: 'full attention', schedule: { kind: 'keepEverything' }, whole: true, most: 32768 },
};

/**
 * Ids that all prompts of a text begin with, and for each question what follows: `ask` up to the answer, `answer` from its
 * first token that holds more than white space, `wanted` which of those hold a part of a wanted string.
 */
export function promptsOf(tokenizer, { text, questions }) {
  const all = questions.map(question => {
    const content = `Read this text; you will be asked about it.\n\n${text}\n\n${question.question}`;
    const encode = answerPrefix => [...tokenizer.encodeChat([{ role: 'user', content }], { answerPrefix })];
    const answer = question.wanted.join(', ');
    const ids = encode(`${question.prefix} ${answer}`);
    const begun = encode(question.prefix);
    if (begun.some((id, i) => ids[i] !== id)) throw new Error(`"${question.prefix}" is cut in two by its answer.`);
    const { start, wanted } = tokensOfWanted(tokenizer, ids.slice(begun.length), question.wanted);
    return { question, ids, start: begun.length + start, wanted };
  });
  const shortest = Math.min(...all.map(({ start }) => start));
  let shared = 0;
  while (shared < shortest - 1 && all.every(({ ids }) => ids[shared] === all[0].ids[shared])) shared++;
  if (all.length === 1) shared = Math.min(shared, shortest - 32);
  return {
    shared: all[0].ids.slice(0, shared),
    questions: all.map(({ question, ids, start, wanted }) => ({
      ...{ question, wanted },
      ...{ ask: ids.slice(shared, start), answer: ids.slice(start) },
    })),
  };
}

/** Which tokens of " a, b" hold characters of a or b; `start` is the first that does, counted from the answer's first. */
function tokensOfWanted(tokenizer, ids, strings) {
  const text = tokenizer.decode(ids);
  const inside = new Uint8Array(text.length);
  for (let at = 0, i = 0; i < strings.length; i++) {
    const from = text.indexOf(strings[i], at);
    at = from + strings[i].length;
    inside.fill(1, from, at);
  }
  let at = 0;
  const holds = ids.map(id => {
    const from = at;
    at += tokenizer.decode([id]).length;
    return inside.subarray(from, at).includes(1);
  });
  const start = holds.indexOf(true);
  return { start, wanted: holds.slice(start) };
}

export async function measure(model, tokenizer, { shared, questions }, { schedule, whole }, onProgress) {
  const { chunk } = model.manifest.kvm;
  const { kvmLayers, keyHeads } = model.manifest.architecture;
  const longest = Math.max(...questions.map(({ ask, answer }) => ask.length + answer.length + SPARE));
  const windowChunks = whole ? Math.ceil((shared.length + longest) / chunk) + 1 : undefined;
  const session = await KvmSession.start(model, { schedule, windowChunks });
  const reading = clock();
  await prefill(
    session,
    shared,
    () => ({ logitRows: [] }),
    (_, first, count) => onProgress(first + count),
  );
  const read = reading();
  const asking = clock();
  const answers = [];
  for (const question of questions) answers.push(await askOne(model, tokenizer, session.fork(), question));
  return {
    tokens: shared.length,
    slots: Math.round(session.slotsHeld / (kvmLayers * keyHeads)),
    questions: answers.length,
    read,
    asked: asking(),
    answers,
  };
}

export async function askOne(model, tokenizer, session, { question, ask, answer, wanted }) {
  const { vocabulary } = model.manifest.architecture;
  let last;
  await prefill(
    session,
    ask,
    (first, count) => ({ logitRows: first + count === ask.length ? [count - 1] : [] }),
    pass => void (last = pass.logits),
  );
  const rows = [last];
  await prefill(
    session.fork(),
    answer.slice(0, -1),
    (_, count) => ({ logitRows: Array.from({ length: count }, (__, row) => row) }),
    ({ logits }, _, count) => {
      for (let row = 0; row < count; row++) rows.push(logits.subarray(row * vocabulary, (row + 1) * vocabulary));
    },
  );
  const counted = answer.map((id, i) => ({ id, logits: rows[i] })).filter((_, i) => wanted[i]);
  const written = await greedily(model, tokenizer, session, last, answer.length + SPARE);
  return {
    ...{ task: question.task, depth: question.depth, wanted: question.wanted, written },
    exact: mean(question.wanted.map(string => (holdsWord(written, string) ? 1 : 0))),
    argmax: mean(counted.map(({ id, logits }) => (largest(logits) === id ? 1 : 0))),
    loss: mean(counted.map(({ id, logits }) => lossOf(logits, id))),
  };
}

/** Text up to an end token, the end of the line or `limit` tokens. */
async function greedily(model, tokenizer, session, logits, limit) {
  const stream = tokenizer.decodeStream();
  let text = '';
  for (let written = 1; ; written++) {
    const token = largest(logits);
    if (model.manifest.endTokens.includes(token) || token === tokenizer.eosId) break;
    text += stream.push(token);
    if (written === limit || /\S.*\n/s.test(text)) break;
    ({ logits } = await session.pass([token], { logitRows: [0] }));
  }
  return (text + stream.end()).trim().split('\n')[0];
}

const holdsWord = (text, word) => new RegExp(`(?<![A-Za-z0-9])${word}(?![A-Za-z0-9])`).test(text);

function largest(logits) {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i] > logits[best]) best = i;
  return best;
}

/** Nats. */
function lossOf(logits, id) {
  const top = logits[largest(logits)];
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - top);
  return Math.log(total) + top - logits[id];
}

export const mean = values => values.reduce((a, b) => a + b, 0) / values.length;

/** Seconds by the wall and of the processor (all threads) from now until called. */
export function clock() {
  const [wall, cpu] = [performance.now(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(cpu);
    return { wall: round((performance.now() - wall) / 1000), cpu: round((user + system) / 1e6) };
  };
}

const round = seconds => Math.round(seconds * 10) / 10;
