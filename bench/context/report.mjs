// What was measured, as a Markdown table and as plots (SVG). Cells are means over a task's questions, all samples.
import { SCHEDULES, mean } from './measure.mjs';
import { TASKS } from './tasks.mjs';

/** By task, length and schedule: { exact, argmax, loss, questions }; task `all` is the mean of the tasks. */
export function summarise(results) {
  const cells = new Map();
  for (const { length, schedule, answers } of results) {
    for (const answer of answers) {
      const key = `${answer.task} ${length} ${schedule}`;
      cells.set(key, [...(cells.get(key) ?? []), answer]);
    }
  }
  const figures = (task, length, schedule) => {
    const answers = cells.get(`${task} ${length} ${schedule}`);
    if (!answers) return undefined;
    const of = name => mean(answers.map(answer => answer[name]));
    return {
      task,
      length,
      schedule,
      exact: of('exact'),
      argmax: of('argmax'),
      loss: of('loss'),
      questions: answers.length,
    };
  };
  const lengths = [...new Set(results.map(({ length }) => length))].sort((a, b) => a - b);
  const tasks = TASKS.filter(task => results.some(({ answers }) => answers.some(answer => answer.task === task)));
  const schedules = Object.keys(SCHEDULES).filter(name => results.some(({ schedule }) => schedule === name));
  const rows = [];
  for (const length of lengths) {
    for (const schedule of schedules) {
      const row = tasks.map(task => figures(task, length, schedule)).filter(Boolean);
      const of = name => mean(row.map(cell => cell[name]));
      // A mean of fewer tasks would not be comparable.
      if (row.length === tasks.length)
        row.push({ task: 'all', length, schedule, exact: of('exact'), argmax: of('argmax'), loss: of('loss') });
      rows.push(...row);
    }
  }
  return { lengths, schedules, tasks: [...tasks, 'all'], cells: rows };
}

const cellOf = ({ cells }, task, length, schedule) =>
  cells.find(cell => cell.task === task && cell.length === length && cell.schedule === schedule);

/** Each cell: wanted strings written % / answer tokens that come first % / nats per answer token. */
export function table(summary) {
  const { lengths, schedules, tasks } = summary;
  const lines = [
    ['task', 'tokens', 'questions', ...schedules.map(schedule => SCHEDULES[schedule].name)],
    Array.from({ length: 3 + schedules.length }, () => '---'),
  ];
  for (const task of tasks) {
    for (const length of lengths) {
      const cells = schedules.map(schedule => cellOf(summary, task, length, schedule));
      if (!cells.some(Boolean)) continue;
      const percent = share => (100 * share).toFixed(0);
      const shown = cells.map(cell =>
        cell ? `${percent(cell.exact)} / ${percent(cell.argmax)} / ${cell.loss.toFixed(2)}` : '-',
      );
      lines.push([task, length.toLocaleString('en'), String(cells.find(Boolean).questions ?? ''), ...shown]);
    }
  }
  return lines.map(line => `| ${line.join(' | ')} |`).join('\n');
}

/** Seconds by text, length and schedule, one reading each: reading, then all questions; processor and slots beside. */
export function times(results) {
  const lines = [
    '| text | tokens | attention | slots | reading, s | processor, s | questions | asking, s | processor, s |',
    '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
  ];
  for (const { text, tokens, schedule, slots, questions, read, asked } of results) {
    const name = SCHEDULES[schedule].name;
    lines.push(
      `| ${text} | ${tokens.toLocaleString('en')} | ${name} | ${slots} | ${read.wall} | ${read.cpu} | ${questions} | ${asked.wall} | ${asked.cpu} |`,
    );
  }
  return lines.join('\n');
}

const COLOURS = {
  window: '#888',
  fixed: '#d55e00',
  root: '#0072b2',
  even: '#009e73',
  kept: '#cc79a7',
  recalled: '#e69f00',
  full: '#000',
};
const [WIDTH, HEIGHT, GAP, COLUMNS] = [200, 140, 50, 3];

/** One panel a task: a figure (`argmax`, `exact` or `loss`) over the length, one line a schedule. */
export function plot(summary, figure) {
  const { lengths, schedules, tasks, cells } = summary;
  const most = figure === 'loss' ? Math.max(...cells.map(cell => cell.loss)) : 1;
  const [first, last] = [Math.log2(lengths[0]), Math.log2(lengths.at(-1))];
  const x = length => (first === last ? 0.5 : (Math.log2(length) - first) / (last - first)) * WIDTH;
  const y = value => HEIGHT * (1 - value / most);
  const panel = (task, i) => {
    const lines = schedules.map(schedule => {
      const points = lengths.map(length => cellOf(summary, task, length, schedule)).filter(Boolean);
      const at = points.map(cell => `${x(cell.length).toFixed(1)},${y(cell[figure]).toFixed(1)}`);
      const colour = COLOURS[schedule];
      const dots = at.map(
        point => `<circle cx="${point.split(',')[0]}" cy="${point.split(',')[1]}" r="2.5" fill="${colour}"/>`,
      );
      return `<polyline points="${at.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>${dots.join('')}`;
    });
    const ticks = lengths.map(
      length => `<text x="${x(length)}" y="${HEIGHT + 14}" text-anchor="middle">${length / 1024}k</text>`,
    );
    const scale = [0, most / 2, most].map(
      value =>
        `<text x="-4" y="${y(value) + 4}" text-anchor="end">${figure === 'loss' ? value.toFixed(1) : `${100 * value} %`}</text>`,
    );
    return `<g transform="translate(${GAP + (i % COLUMNS) * (WIDTH + GAP)},${GAP + Math.floor(i / COLUMNS) * (HEIGHT + GAP)})">
<rect width="${WIDTH}" height="${HEIGHT}" fill="none" stroke="#ccc"/><text x="${WIDTH / 2}" y="-6" text-anchor="middle">${task}</text>
${[...ticks, ...scale, ...lines].join('\n')}</g>`;
  };
  const width = GAP + COLUMNS * (WIDTH + GAP);
  const height = 2 * GAP + Math.ceil(tasks.length / COLUMNS) * (HEIGHT + GAP);
  const legend = schedules.map(
    (schedule, i) =>
      `<text x="${GAP + i * 120}" y="${height - 20}" fill="${COLOURS[schedule]}">${SCHEDULES[schedule].name}</text>`,
  );
  const title = {
    argmax: 'answer tokens that are the most likely ones',
    exact: 'wanted answers written',
    loss: 'nats per answer token',
  }[figure];
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#fff"/><text x="${GAP}" y="20" font-size="14">${title}</text>
${tasks.map(panel).join('\n')}
${legend.join('\n')}
</svg>
`;
}
