// Paired differences of losses with 95 % intervals over targets (normal approximation). Pure.

/** Mean and half of the interval's width. */
export function meanOf(values) {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const variance = values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / Math.max(1, values.length - 1);
  return { mean, half: 1.96 * Math.sqrt(variance / values.length) };
}

/** Rows are arms; for each kind of target and all: loss, and what the arm takes off the window's or the passages' loss. */
export function lossTable(losses, arms) {
  const kinds = [...new Set(losses.map(({ kind }) => kind)), 'all'];
  const of = kind => losses.filter(one => kind === 'all' || one.kind === kind);
  const head = ['loss beside', ...kinds.map(kind => `${kind} (${of(kind).length})`)];
  const rows = arms.map(arm => {
    const base = arm !== 'passages' && arm.startsWith('passages') && arms.includes('passages') ? 'passages' : 'window';
    return [arm, ...kinds.map(kind => cell(of(kind), arm, base))];
  });
  const line = cells => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line), ''].join('\n');
}

function cell(losses, arm, base) {
  const measured = losses.filter(({ losses: own }) => own[arm] !== undefined);
  if (measured.length === 0) return '';
  const { mean } = meanOf(measured.map(({ losses: own }) => own[arm]));
  if (arm === base || measured[0].losses[base] === undefined) return mean.toFixed(3);
  const paired = meanOf(measured.map(({ losses: own }) => own[arm] - own[base]));
  const sign = paired.mean < 0 ? '-' : '+';
  return `${mean.toFixed(3)} (${sign}${Math.abs(paired.mean).toFixed(3)} ± ${paired.half.toFixed(3)})`;
}
