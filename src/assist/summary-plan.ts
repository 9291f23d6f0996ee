/**
 * Which sections of a long text are written about, when there are more of them than sentences: spread evenly over the text
 * and its weight. Never drops a section unseen: what is not chosen is counted by who asks.
 */

/**
 * Positions, ascending, of at most `most` items. The items are cut into that many runs of equal weight, and the heaviest of
 * each run is chosen; places that are left go to the heaviest of all others. Items of weight 0 are never chosen.
 */
export function spread(weights: readonly number[], most: number): number[] {
  const all = weights.map((_, at) => at).filter(at => weights[at]! > 0);
  if (most < 1) return [];
  if (all.length <= most) return all;
  const total = all.reduce((sum, at) => sum + weights[at]!, 0);
  const best = new Map<number, number>();
  let before = 0;
  for (const at of all) {
    const run = Math.min(most - 1, Math.floor((most * (before + weights[at]! / 2)) / total));
    before += weights[at]!;
    const heaviest = best.get(run);
    if (heaviest === undefined || weights[at]! > weights[heaviest]!) best.set(run, at);
  }
  const chosen = new Set(best.values());
  const others = all.filter(at => !chosen.has(at)).sort((a, b) => weights[b]! - weights[a]! || a - b);
  for (const at of others.slice(0, most - chosen.size)) chosen.add(at);
  return [...chosen].sort((a, b) => a - b);
}

/** How many of `most` sentences each item gets: at least one, then by the square root of its size, at most `limits`. */
export function shares(sizes: readonly number[], limits: readonly number[], most: number): number[] {
  const out = sizes.map(() => 1);
  for (let left = most - out.length; left > 0; left--) {
    let best = -1;
    let need = 0;
    sizes.forEach((size, at) => {
      const wish = Math.sqrt(size) / out[at]!;
      if (out[at]! < limits[at]! && wish > need) [best, need] = [at, wish];
    });
    if (best < 0) break;
    out[best]!++;
  }
  return out;
}
