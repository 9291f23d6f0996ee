/** Entry of the Growth view: charts as plain SVG, each with what it shows in words. Computes nothing. */
import type { FromGrowthView, GrowthChart, GrowthLine, ToGrowthView } from '../protocol/panel.js';
import { Editor } from './editor.js';
import { element } from './elements.js';

interface Wire {
  readonly received: ToGrowthView;
  readonly sent: FromGrowthView;
  readonly kept: object;
}

/** Of the drawing, which is stretched to the width of the view. */
const width = 300;
const height = 90;
const edge = 3;
const svgNames = 'http://www.w3.org/2000/svg' as const;

function chartElement({ title, summary, axis, lines }: GrowthChart): HTMLElement {
  const figure = element('figure');
  if (title !== undefined) figure.append(element('h3', { dir: 'auto' }, title));
  if (lines.length > 0) figure.append(drawing(lines, summary), element('p', { class: 'axis' }, axis), legend(lines));
  figure.append(element('figcaption', {}, summary));
  return figure;
}

function drawing(lines: readonly GrowthLine[], summary: string): SVGElement {
  const drawn = svg('svg', {
    role: 'img',
    'aria-label': summary,
    viewBox: `0 0 ${width} ${height}`,
    preserveAspectRatio: 'none',
  });
  drawn.append(svg('path', { class: 'frame', d: `M${edge} ${edge}V${height - edge}H${width - edge}` }));
  lines.forEach(({ points }, at) => {
    const corners = points.map(([x, y]) => `${place(x, width)},${place(1 - y, height)}`);
    drawn.append(svg('polyline', { class: `line-${at + 1}`, points: corners.join(' ') }));
  });
  return drawn;
}

function place(share: number, length: number): string {
  return (edge + share * (length - 2 * edge)).toFixed(1);
}

function legend(lines: readonly GrowthLine[]): HTMLElement {
  const entries = lines.map(({ label }, at) => {
    const sample = svg('svg', { class: 'sample', viewBox: '0 0 16 8', 'aria-hidden': 'true' });
    sample.append(svg('polyline', { class: `line-${at + 1}`, points: '0,4 16,4' }));
    return element('li', {}, sample, label);
  });
  return element('ul', { class: 'legend' }, ...entries);
}

function svg(tag: string, attributes: Readonly<Record<string, string>>): SVGElement {
  const made = document.createElementNS(svgNames, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

const editor = new Editor<Wire>();
editor.listen(({ charts }) => {
  document.body.replaceChildren(element('main', {}, ...charts.map(chartElement)));
});
editor.send({ type: 'ready' });
