// Figures over judged questions, with bootstrap intervals, as values and as tables. Never judges; see judge.mjs.

const RESAMPLES = 2000;

/** Each is a sum over a sum: [numerator, denominator] of one question, or undefined where it says nothing about it. */
const recallFigures = {
  'recall@1': ({ there, rank }) => there && share(rank <= 1),
  'recall@3': ({ there, rank }) => there && share(rank <= 3),
  'recall@6': ({ there, rank }) => there && share(rank <= 6),
  'recall, all': ({ there, rank }) => there && share(rank !== undefined),
  MRR: ({ there, rank }) => there && [rank === undefined ? 0 : 1 / rank, 1],
  'in the prompt': ({ there, shownRank }) => there && share(shownRank !== undefined),
  'best of the prompt': ({ there, shownRank }) => there && share(shownRank === 1),
  'passages in the prompt': ({ shown }) => [shown, 1],
  'lines in the prompt': ({ shownLines }) => [shownLines, 1],
};

const answerFigures = {
  'citation precision': ({ there, cited, citedRight }) => there && [citedRight, cited],
  'citation recall': ({ there, citedRight }) => there && share(citedRight > 0),
  'wanted words': ({ there, hasWord }) => there && hasWord !== undefined && share(hasWord),
  'right place and words': ({ there, citedRight, hasWord }) => there && share(citedRight > 0 && hasWord !== false),
  'right place or says so': ({ there, citedRight, saysSo }) => there && share(citedRight > 0 || saysSo),
  'says so, though it is there': ({ there, saysSo }) => there && share(saysSo),
  'says so, where it is not there': ({ there, saysSo }) => !there && share(saysSo),
  'struck out, an answer': ({ struckOut }) => [struckOut, 1],
  'names struck out, an answer': ({ namesStruckOut }) => [namesStruckOut, 1],
};

function share(holds) {
  return [holds ? 1 : 0, 1];
}

/** Figures of judged questions: `{name, value, low, high, questions}`, 95 % by resampling the questions. */
export function figuresOf(judged, withAnswers) {
  const figures = Object.entries(withAnswers ? { ...recallFigures, ...answerFigures } : recallFigures).map(
    ([name, of]) => {
      const pairs = judged.map(of).filter(Boolean);
      return { name, value: ratio(pairs), ...interval(pairs), questions: pairs.length };
    },
  );
  return figures.filter(({ questions }) => questions > 0);
}

/** Times and what was made up, which are counted rather than averaged. */
export function countsOf(judged) {
  const sorted = key => judged.map(one => one[key]).sort((a, b) => a - b);
  const at = (values, part) => values[Math.min(values.length - 1, Math.floor(part * values.length))];
  const [seconds, first] = [sorted('seconds'), sorted('firstSeconds')];
  return {
    madeUp: judged.reduce((sum, { madeUp }) => sum + madeUp.length, 0),
    seconds: { median: at(seconds, 0.5), p90: at(seconds, 0.9) },
    firstToken: { median: at(first, 0.5), p90: at(first, 0.9) },
  };
}

function ratio(pairs) {
  let [up, down] = [0, 0];
  for (const [a, b] of pairs) [up, down] = [up + a, down + b];
  return down === 0 ? undefined : up / down;
}

function interval(pairs) {
  const random = generator(1);
  const values = [];
  for (let i = 0; i < RESAMPLES; i++) {
    const value = ratio(pairs.map(() => pairs[Math.floor(random() * pairs.length)]));
    if (value !== undefined) values.push(value);
  }
  values.sort((a, b) => a - b);
  return { low: values[Math.floor(0.025 * values.length)], high: values[Math.ceil(0.975 * values.length) - 1] };
}

function generator(seed) {
  let x = seed;
  return () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return x / 2 ** 32;
  };
}

/** Groups (`{name, figures, counts?}`) side by side, as Markdown. */
export function tableOf(groups, withIntervals) {
  const names = [...new Set(groups.flatMap(({ figures }) => figures.map(({ name }) => name)))];
  const cell = ({ figures }, name) => {
    const figure = figures.find(one => one.name === name);
    if (figure?.value === undefined) return '';
    const [value, low, high] = [figure.value, figure.low, figure.high].map(shown);
    return withIntervals ? `${value} (${low} to ${high})` : value;
  };
  const rows = names.map(name => [name, ...groups.map(group => cell(group, name))]);
  if (groups.some(({ counts }) => counts)) {
    const time = ({ median, p90 }) => `${median.toFixed(1)}, ${p90.toFixed(1)}`;
    rows.push(['seconds, median and p90', ...groups.map(({ counts }) => (counts ? time(counts.seconds) : ''))]);
    rows.push(['to the first word', ...groups.map(({ counts }) => (counts ? time(counts.firstToken) : ''))]);
    rows.push(['made-up files', ...groups.map(({ counts }) => String(counts?.madeUp ?? ''))]);
  }
  const head = ['', ...groups.map(({ name, there, absent }) => `${name} (${there} + ${absent})`)];
  return [head, head.map(() => '---'), ...rows].map(row => `| ${row.join(' | ')} |`).join('\n');
}

function shown(value) {
  return Math.abs(value) < 2 ? value.toFixed(2).replace(/^0\./, '.') : value.toFixed(1);
}
