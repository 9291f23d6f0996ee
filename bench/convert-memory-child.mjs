// One conversion for convert-memory.mjs: CHECKPOINT TARGET QUANTISATION [PHASE TO CANCEL IN]; the last line is its outcome as JSON.
import { convertModel } from '../out/src/convert/index.js';
import { runGraphs } from '../out/src/engine/index.js';

const [checkpoint, target, quantisation, cancelDuring = ''] = process.argv.slice(2);
const began = performance.now();
const seconds = () => (performance.now() - began) / 1000;
const controller = new AbortController();
/** Longest time without news, by task. */
const silence = {};
let [lastNews, task, cancelledAt] = [0, 'start', undefined];

function news(next) {
  silence[task] = Math.max(silence[task] ?? 0, seconds() - lastNews);
  lastNews = seconds();
  task = next;
}

function cancelIn(phase, delay) {
  if (phase !== cancelDuring) return;
  // When it was asked for, even if a thread that is busy hears of it later.
  cancelledAt ??= seconds() + delay / 1000;
  setTimeout(() => controller.abort(), delay).unref();
}

cancelIn('start', 500);
let outcome;
try {
  const manifest = await convertModel(checkpoint, target, {
    quantisation,
    entry: { name: 'bench', origin: 'random', licence: 'none' },
    signal: controller.signal,
    onProgress: ({ task: now, done, total }) => {
      news(now);
      if (done >= total / 3) cancelIn(now, 0);
    },
    run: (...given) => {
      news('Running the model');
      cancelIn('Running the model', 200);
      return runGraphs(...given);
    },
  });
  outcome = `difference ${manifest.verification.difference.toPrecision(2)}`;
} catch (error) {
  outcome = `${error.code}: ${error.message}`;
}
news('end');
const afterCancel = cancelledAt === undefined ? undefined : seconds() - cancelledAt;
process.stdout.write(`${JSON.stringify({ seconds: seconds(), silence, afterCancel, outcome })}\n`);
