// Loss by schedule, the table of the design's retrofit page: the second half of 4,096 tokens (or of `--tokens`) counts. Growing
// states once with the layers' own shares of the slots and fitted values, as the product reads, and once with all alike.
// The window has 3 chunks: the research code folded a chunk after it was attended to, so its 2 chunks saw 513 to 768 tokens.
const window = { windowChunks: 3, readDistance: 1024 };
const chunk = 256;
const rowsFor = tokens => {
  const left = tokens - 2 * chunk;
  const even = ratio => ({ schedule: { kind: 'even', slots: Math.round(left / ratio), tokens: left }, ...window });
  return [
    ['full attention', { schedule: { kind: 'full' } }],
    ['window + 4 sinks only', { schedule: { kind: 'windowOnly' }, ...window }],
    ['nothing merged', { schedule: { kind: 'keepEverything' }, ...window }],
    ['nothing merged, read distance 512', { schedule: { kind: 'keepEverything' }, ...window, readDistance: 512 }],
    ...growing('even growth, 1:3.5', even(3.5)),
    ...growing('even growth, 1:4', even(4)),
    ...growing('even growth, 1:8', even(8)),
    ...growing('16·sqrt(T)', { schedule: { kind: 'powerLaw', factor: 16, exponent: 0.5 }, ...window }),
    ...growing('even growth, 1:3.5, window of 2 chunks', { ...even(3.5), windowChunks: 2 }),
  ];
};

function growing(name, options) {
  return [
    [name, options],
    [`${name}, all alike`, options, true],
  ];
}

/** `alike`: the engine of the same model without values for growing states. */
export async function loss(engine, alike, texts, tokens = 4096) {
  const losses = [];
  for (const [name, options, asAlike] of rowsFor(tokens)) {
    const row = [];
    for (const text of texts) {
      const measured = await (asAlike ? alike : engine).loss(text, { ...options, from: tokens / 2, limit: tokens });
      row.push(measured.loss);
    }
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
    console.log(`${name.padEnd(50)} ${show(row, 4)} mean ${mean(row).toFixed(4)}   ${part}`);
  }
}
