// Loss by schedule, the table of the design's retrofit page: 4,096 tokens, those after 2,048 count.
// The window has 3 chunks: the research code folded a chunk after it was attended to, so its 2 chunks saw 513 to 768 tokens.
const window = { windowChunks: 3, readDistance: 1024 };
const even = slots => ({ schedule: { kind: 'even', slots, tokens: 3584 }, ...window });
const rows = [
  ['full attention', { schedule: { kind: 'full' } }],
  ['window + 4 sinks only', { schedule: { kind: 'windowOnly' }, ...window }],
  ['nothing merged', { schedule: { kind: 'keepEverything' }, ...window }],
  ['nothing merged, read distance 512', { schedule: { kind: 'keepEverything' }, ...window, readDistance: 512 }],
  ['even growth to 1,024 (1:3.5)', even(1024)],
  ['even growth to 448 (1:8)', even(448)],
  ['16·sqrt(T)', { schedule: { kind: 'powerLaw', factor: 16, exponent: 0.5 }, ...window }],
  ['even growth to 1,024, window of 2 chunks', { ...even(1024), windowChunks: 2 }],
];

export async function loss(engine, texts) {
  const losses = [];
  for (const [name, options] of rows) {
    const row = [];
    for (const text of texts) row.push((await engine.loss(text, { ...options, from: 2048, limit: 4096 })).loss);
    losses.push(row);
    const [full, windowOnly] = losses;
    const closed = row.map((value, i) => (windowOnly ? (windowOnly[i] - value) / (windowOnly[i] - full[i]) : NaN));
    const show = (values, digits) => values.map(value => value.toFixed(digits)).join(' ');
    const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
    const part = windowOnly
      ? `${show(
          closed.map(c => 100 * c),
          0,
        )} mean ${(100 * mean(closed)).toFixed(0)} %`
      : '';
    console.log(`${name.padEnd(42)} ${show(row, 4)} mean ${mean(row).toFixed(4)}   ${part}`);
  }
}
