// `npm run bench -- answers`: how good answers are, on questions with known places over real repositories (answers/questions), asked
// through the command line's own path with the installed model. Reads into the data folder; what was read or answered before, by the
// same code with the same settings, is taken from there. Exits with 1 where an answer names a file that does not exist.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SetUpError, note, root } from '../scripts/set-up.mjs';
import { judgedAnswer, judgedRecall } from './answers/judge.mjs';
import { countsOf, figuresOf, tableOf } from './answers/report.mjs';
import { repositoryFolder } from './answers/repositories.mjs';
import { readSet } from './answers/set.mjs';

const built = path => import(join(root, 'out/src', path));
const kept = join(root, 'out', 'answers');
const numbers = ['limit', 'places', 'passages', 'prompt-tokens', 'max-tokens', 'threads'];

export async function answers(args) {
  const flags = flagsOf(args);
  const chosen = readSet().filter(
    ({ name, part }) => (!flags.part || part === flags.part) && (!flags.repository || name === flags.repository),
  );
  if (chosen.length === 0) throw new SetUpError('No repository of the set has that part and name.', 2);
  const { watchInterrupts } = await built('cli/interrupt.js');
  const interrupt = watchInterrupts(note);
  const results = [];
  try {
    const model = await modelOf(flags);
    const memory = await answersKept(flags, model);
    for (const repository of chosen) {
      results.push({ repository, judged: await asked(repository, flags, memory, interrupt.signal) });
    }
    report(results, flags, model);
  } catch (error) {
    const { LongviewError } = await built('base/index.js');
    if (!(error instanceof LongviewError)) throw error;
    throw new SetUpError(error.message, error.code === 'cancelled' ? 130 : 1);
  } finally {
    interrupt.dispose();
  }
}

function flagsOf(args) {
  const flags = { 'recall-only': false };
  for (let at = 0; at < args.length; at++) {
    const name = args[at].replace(/^--/, '');
    if (name === 'recall-only') flags[name] = true;
    else if (numbers.includes(name)) flags[name] = Number(args[++at]);
    else if (['part', 'repository', 'data', 'model', 'order', 'states', 'json'].includes(name))
      flags[name] = args[++at];
    else throw new SetUpError(`answers: what is ${args[at]}?`, 2);
    if (flags[name] === undefined || Number.isNaN(flags[name]))
      throw new SetUpError(`answers: ${name} needs a value.`, 2);
  }
  return flags;
}

async function modelOf(flags) {
  const { dataFolder, findModel } = await built('models/index.js');
  const { description } = await findModel(flags.data ?? dataFolder(), flags.model);
  return description;
}

/** Answers of earlier runs of the same code, model and settings; `add` keeps one more at once. */
async function answersKept({ places, passages, order, states, 'prompt-tokens': prompt, 'max-tokens': max }, model) {
  const sources = readFileSync(join(root, 'out', 'cli.stamp'), 'utf8');
  const settings = JSON.stringify([sources, model.fingerprint, places, passages, order, prompt, max, states]);
  const file = join(kept, `answers-${createHash('sha256').update(settings).digest('hex').slice(0, 16)}.jsonl`);
  mkdirSync(kept, { recursive: true });
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  const known = new Map(lines.map(line => JSON.parse(line)).map(({ key, answered }) => [key, answered]));
  return {
    get: key => known.get(key),
    add: (key, answered) => appendFileSync(file, `${JSON.stringify({ key, answered })}\n`),
  };
}

/** One repository: read what is unread, then its questions one after another. */
async function asked(repository, flags, memory, signal) {
  const { createSurface } = await built('cli/surface.js');
  const { withHouse } = await built('cli/house.js');
  const folder = await repositoryFolder(
    repository,
    repository.questions.flatMap(({ places }) => places),
  );
  const texts = new Map(repository.files.map(path => [path, readFileSync(join(folder, path), 'utf8')]));
  const surface = createSurface({ verbose: false });
  return withHouse({ surface, signal }, folder, flags, async house => {
    const { tokensRead, readMs } = await house.memory.refresh({ signal, onProgress: surface.progress });
    const { total, read } = house.memory.coverage();
    if (read !== total) throw new SetUpError(`${repository.name}: ${read} of ${total} files were read.`);
    if (tokensRead > 0) note(`${repository.name}: ${tokensRead} tokens read in ${(readMs / 1000).toFixed(0)} s.`);
    const judged = [];
    const questions = spread(repository.questions, flags.limit);
    for (const question of questions) {
      judged.push(await one(house, repository, question, texts, flags, memory, signal));
      tell(`${repository.name}: ${judged.length} of ${questions.length} questions`, judged.length === questions.length);
    }
    return judged;
  });
}

/** One line that is written over on a terminal; elsewhere the last one only. */
function tell(line, isLast) {
  if (process.stderr.isTTY) process.stderr.write(`\r${line}${isLast ? '\n' : ''}`);
  else if (isLast) note(line);
}

/** So many of them, evenly over the whole list. */
function spread(questions, limit = questions.length) {
  if (limit >= questions.length) return questions;
  return Array.from({ length: limit }, (_, at) => questions[Math.floor((at * questions.length) / limit)]);
}

async function one({ memory, engine }, repository, question, texts, flags, kept, signal) {
  const running = await engine();
  const settings = await settingsOf(flags, running);
  const { places } = settings;
  const judgedPlaces = ({ recalled, shown }) => ({
    ...question,
    there: question.places.length > 0,
    ...judgedRecall(question, recalled, shown),
    recalled: recalled.map(({ path, startLine, endLine, score }) => ({ path, startLine, endLine, score })),
    shownPlaces: shown,
  });
  if (flags['recall-only']) {
    const recalled = await memory.recall(question.question, { limit: places, signal });
    return judgedPlaces({ recalled, shown: await shownOf(question.question, recalled, settings, running) });
  }
  const key = `${repository.name}-${repository.source.version}: ${question.question}`;
  let answered = kept.get(key);
  if (!answered) {
    const { ask } = await built('assist/index.js');
    const { passages, order, budget } = settings;
    let spans = [];
    const result = await ask(
      {
        ...{ memory, engine: running, question: question.question, maxTokens: flags['max-tokens'] },
        ...{ places, passages, order, promptTokens: budget, states: flags.states },
      },
      { signal, onRecalled: recalled => (spans = recalled) },
    );
    answered = { result, shown: await shownOf(question.question, spans, settings, running) };
    kept.add(key, answered);
  }
  const { result, shown } = answered;
  const { answer, recalled, citations, unknownNames } = result;
  return {
    ...judgedPlaces({ recalled, shown }),
    ...judgedAnswer(question, result, texts),
    answer,
    recalled,
    citations,
    unknownNames,
  };
}

/** What `ask` uses where nothing is asked for. */
async function settingsOf(flags, { model }) {
  const { PROMPT_LIMITS, styleFor } = await built('assist/prompt.js');
  const style = styleFor(model);
  const limits = PROMPT_LIMITS[style];
  return {
    style,
    places: flags.places ?? 6,
    passages: flags.passages ?? limits.passages,
    budget: flags['prompt-tokens'] ?? limits.tokens,
    order: flags.order,
  };
}

/** Places that fit into the prompt, best first. */
async function shownOf(question, spans, { style, passages, budget, order }, engine) {
  const { promptOf } = await built('assist/index.js');
  const countTokens = text => engine.countTokens(text);
  return (await promptOf({ question, style, spans, passages, order, budget, countTokens })).places;
}

function report(results, flags, model) {
  const groupOf = (name, judged) => ({
    name,
    there: judged.filter(({ there }) => there).length,
    absent: judged.filter(({ there }) => !there).length,
    figures: figuresOf(judged, !flags['recall-only']),
    ...(!flags['recall-only'] && { counts: countsOf(judged) }),
  });
  const partNames = [...new Set(results.map(({ repository }) => repository.part))];
  const parts = partNames.map(part =>
    groupOf(
      part,
      results.filter(({ repository }) => repository.part === part).flatMap(({ judged }) => judged),
    ),
  );
  const repositories = results.map(({ repository, judged }) => groupOf(repository.name, judged));
  process.stdout.write(`Questions with an answer + without one.\n\n${tableOf(parts, true)}\n`);
  process.stdout.write(`\n${tableOf(repositories, false)}\n`);
  const answers = results.flatMap(({ repository, judged }) =>
    judged.map(one => ({ repository: repository.name, ...one })),
  );
  for (const { repository, question, madeUp = [] } of answers) {
    if (madeUp.length > 0) process.stdout.write(`Made up: ${madeUp.join(', ')} (${repository}: ${question})\n`);
  }
  const file = flags.json ?? join(kept, flags['recall-only'] ? 'recall.json' : 'report.json');
  writeFileSync(file, `${JSON.stringify({ model: model.name, flags, parts, repositories, answers }, null, 1)}\n`);
  note(`All of it as JSON: ${file}`);
  if (answers.some(({ madeUp = [] }) => madeUp.length > 0)) process.exitCode = 1;
}
