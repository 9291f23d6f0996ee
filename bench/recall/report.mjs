// How the figures of recall are shown: one table a task and repository, then all repositories together, then the bar.
import { figuresOf, ratioOf } from './figures.mjs';

/** Figures by method, of ranks by method. */
export function figuresByMethod(ranks, seed) {
  return Object.fromEntries(Object.entries(ranks).map(([method, own]) => [method, figuresOf(own, seed)]));
}

export function table(title, figures) {
  const rows = Object.entries(figures).map(
    ([method, { mrr, at1, at5 }]) => `| ${method} | ${shown(mrr)} | ${shown(at1)} | ${shown(at5)} |`,
  );
  return [title, '', '| | MRR | recall@1 | recall@5 |', '| --- | --- | --- | --- |', ...rows, ''].join('\n');
}

/** Ranks of several repositories' questions as one list for each method that all of them have. */
export function pooled(all) {
  const methods = Object.keys(all[0] ?? {}).filter(method => all.every(ranks => method in ranks));
  return Object.fromEntries(methods.map(method => [method, all.flatMap(ranks => ranks[method])]));
}

/** Longview's MRR over each peer's, on the same questions. */
export function ratios(ranks, seed) {
  const out = {};
  for (const method of Object.keys(ranks).filter(name => /^Longview(?!, words)/.test(name))) {
    for (const peer of ['MiniLM', 'BM25']) out[`${method} / ${peer}`] = ratioOf(ranks[method], ranks[peer], seed);
  }
  return out;
}

export function ratioLines(found) {
  return Object.entries(found)
    .map(([name, { value, low, high }]) => `${name}: ${value.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`)
    .join('\n');
}

function shown({ value, low, high }) {
  return `${short(value)} [${short(low)}, ${short(high)}]`;
}

function short(value) {
  return value.toFixed(3).replace(/^0/, '');
}
