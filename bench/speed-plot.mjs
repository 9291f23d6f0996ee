// Draws the cells of `bench speed` as SVG: tokens per second of processor time by prompt length, both axes logarithmic.
const [width, height, margin] = [360, 260, 45];
const colours = {
  longview: '#0b6e4f',
  memory: '#7c3aed',
  'memory+gist': '#b08900',
  full: '#1f5fbf',
  window: '#8a8a8a',
  'llama.cpp': '#c2410c',
};

/** One panel for reading, one for writing. */
export function speedPlot(cells) {
  const rates = [
    ['reading', cell => (1000 * cell.tokens) / cell.readCpuMs],
    ['writing', cell => (1000 * cell.written) / cell.writeCpuMs],
  ];
  const panels = rates.map(
    ([title, rate], i) =>
      `<g transform="translate(${i * width},0)">${panel(
        cells.filter(cell => rate(cell) > 0),
        title,
        rate,
      )}</g>`,
  );
  const size = `width="${2 * width}" height="${height}" viewBox="0 0 ${2 * width} ${height}"`;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="11">` +
    `<rect width="100%" height="100%" fill="white"/>${panels.join('')}</svg>\n`
  );
}

function panel(cells, title, rate) {
  const lengths = [...new Set(cells.map(cell => cell.length))].sort((a, b) => a - b);
  const x = scale(lengths, margin, width - 80);
  const y = scale(cells.map(rate), height - margin, 30);
  const line = engine => {
    const own = cells.filter(cell => cell.engine === engine).sort((a, b) => a.length - b.length);
    const points = own.map(cell => [x(cell.length).toFixed(1), y(rate(cell)).toFixed(1)]);
    const colour = colours[engine];
    const [endX, endY] = points.at(-1);
    const marks = points.map(([px, py], i) => {
      const title = `${engine}, ${own[i].length} tokens: ${rate(own[i]).toFixed(1)} tokens/s`;
      return `<circle cx="${px}" cy="${py}" r="3" fill="${colour}"><title>${title}</title></circle>`;
    });
    const path = `<polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="1.5"/>`;
    return `${path}${marks.join('')}<text x="${Number(endX) + 6}" y="${Number(endY) + 4}" fill="${colour}">${engine}</text>`;
  };
  const ticks = lengths.map(n => `<text x="${x(n)}" y="${height - 25}" text-anchor="middle">${n}</text>`);
  const values = [Math.min(...cells.map(rate)), Math.max(...cells.map(rate))];
  const sides = values.map(v => `<text x="${margin - 8}" y="${y(v) + 4}" text-anchor="end">${v.toFixed(0)}</text>`);
  const heading = `<text x="${margin}" y="16" font-weight="bold">${title}, tokens per second of processor time</text>`;
  const below = `<text x="${(margin + width - 80) / 2}" y="${height - 8}" text-anchor="middle">prompt tokens</text>`;
  const engines = [...new Set(cells.map(cell => cell.engine))];
  return [heading, below, ...ticks, ...sides, ...engines.map(line)].join('');
}

function scale(values, from, to) {
  const [low, high] = [Math.log(Math.min(...values)), Math.log(Math.max(...values))];
  return value => from + ((to - from) * (Math.log(value) - low)) / (high - low || 1);
}
