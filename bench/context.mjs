// `npm run bench -- context`: what is still known of a long text, by how it was read. Every cell (text, length, schedule, sample)
// is kept as soon as it is measured, so that an interrupted run goes on; a changed text or model is measured anew.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { SetUpError, root } from '../scripts/set-up.mjs';
import { SCHEDULES } from './context/measure.mjs';
import { openReader } from './context/reader.mjs';
import { plot, summarise, table, times } from './context/report.mjs';
import { TASKS, TEXTS, documentOf } from './context/tasks.mjs';

/** Reads the command's arguments. */
export function contextOptions(args) {
  try {
    return optionsOf(args);
  } catch (error) {
    throw new SetUpError(error.message, 2);
  }
}

function optionsOf(args) {
  const { values } = parseArgs({
    args,
    options: {
      tasks: { type: 'string', default: TASKS.join() },
      lengths: { type: 'string', default: '4096,8192,32768,131072' },
      schedules: { type: 'string', default: Object.keys(SCHEDULES).join() },
      samples: { type: 'string', default: '2' },
      seed: { type: 'string', default: '1' },
      out: { type: 'string', default: join(root, 'out/bench/context') },
      threads: { type: 'string', default: '2' },
      anyway: { type: 'boolean', default: false },
    },
  });
  const known = (name, names) => {
    const list = values[name].split(',');
    const wrong = list.find(item => !names.includes(item));
    if (wrong !== undefined) throw new Error(`--${name}: there is no "${wrong}", only ${names.join(', ')}.`);
    return list;
  };
  const whole = (name, value, least) => {
    if (!(Number.isInteger(value) && value >= least)) throw new Error(`--${name} takes whole numbers from ${least}.`);
    return value;
  };
  return {
    tasks: known('tasks', TASKS),
    lengths: values.lengths.split(',').map(length => whole('lengths', Number(length), 1024)),
    schedules: known('schedules', Object.keys(SCHEDULES)),
    samples: whole('samples', Number(values.samples), 1),
    threads: whole('threads', Number(values.threads), 1),
    seed: whole('seed', Number(values.seed), 0),
    out: resolve(process.env.INIT_CWD ?? process.cwd(), values.out),
    anyway: values.anyway,
  };
}

export async function context(modelFolder, options) {
  const { tasks, lengths, schedules, samples, seed, out, threads, anyway } = options;
  mkdirSync(out, { recursive: true });
  const cells = join(out, 'cells.jsonl');
  const kept = new Map(linesOf(cells).map(cell => [cell.key, cell]));
  const reader = await openReader(modelFolder, threads);
  const wanted = [];
  for (const length of lengths) {
    for (let sample = 0; sample < samples; sample++) {
      for (const text of Object.keys(TEXTS)) {
        if (!TEXTS[text].some(task => tasks.includes(task))) continue;
        const document = documentOf({ text, length, sample, seed, count: reader.count });
        const prompts = reader.prompts(document);
        const digest = createHash('sha256')
          .update(`${reader.fingerprint} ${JSON.stringify(prompts)}`)
          .digest('hex');
        for (const schedule of schedules) {
          const what = `${text}, ${length} tokens, sample ${sample}, ${SCHEDULES[schedule].name}`;
          if (!anyway && length > (SCHEDULES[schedule].most ?? Infinity)) {
            console.log(`${what}: left out (--anyway reads it)`);
            continue;
          }
          const key = `${digest.slice(0, 16)} ${schedule}`;
          if (!kept.has(key)) {
            const show = done => process.stderr.isTTY && process.stderr.write(`\r${what}: ${done} `);
            const measured = await reader.measure(document, prompts, SCHEDULES[schedule], show);
            const memory = Math.round(process.resourceUsage().maxRSS / 1024);
            const cell = { key, model: reader.name, seed, text, length, sample, schedule, ...measured, memory };
            appendFileSync(cells, `${JSON.stringify(cell)}\n`);
            kept.set(key, cell);
            const { read, asked, answers } = measured;
            console.log(`${what}: read in ${read.wall} s, ${answers.length} questions in ${asked.wall} s`);
          }
          const cell = kept.get(key);
          wanted.push({ ...cell, answers: cell.answers.filter(({ task }) => tasks.includes(task)) });
        }
      }
    }
    write(out, wanted);
  }
  await reader.dispose();
  console.log(`\n${table(summarise(wanted))}\n\n${times(wanted)}\n\nin ${out}: context.json, context.md, *.svg`);
}

function write(out, results) {
  const summary = summarise(results);
  writeFileSync(join(out, 'context.json'), JSON.stringify({ summary: summary.cells, results }, undefined, 1));
  writeFileSync(join(out, 'context.md'), `${table(summary)}\n\n${times(results)}\n`);
  for (const figure of ['argmax', 'exact', 'loss']) writeFileSync(join(out, `${figure}.svg`), plot(summary, figure));
}

/** A last line that was cut off by a kill is measured again. */
function linesOf(path) {
  if (!existsSync(path)) return [];
  const text = readFileSync(path, 'utf8');
  const whole = text.slice(0, text.lastIndexOf('\n') + 1);
  if (whole !== text) writeFileSync(path, whole);
  return whole
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));
}
