/**
 * What a composed state must be, in float64, from the gists in it and the places they are said to be at: counts, sums, radii,
 * and whether a choice of places keeps KVM's rule (kvm.md, Update: 2, in retrofit.md's terms). Shares nothing with the product.
 */

/** One gist's slots of one group. */
export interface OracleSlot {
  readonly key: readonly number[];
  readonly value: readonly number[];
  readonly count: number;
  readonly keyRadius: number;
  readonly valueRadius: number;
}

export interface OraclePlaced extends OracleSlot {
  readonly slot: number;
  readonly made: boolean;
}

/** Everything in one slot, from the list of what is in it; undefined where that is nothing. */
export function slotOf(members: readonly OraclePlaced[]): OracleSlot | undefined {
  const first = members[0];
  if (!first) return undefined;
  const count = members.reduce((sum, member) => sum + member.count, 0);
  const sum = (pick: (member: OraclePlaced) => readonly number[]): number[] =>
    pick(first).map((_, i) => members.reduce((total, member) => total + pick(member)[i]!, 0));
  const makers = members.filter(({ made }) => made);
  if (makers.length > 1) throw new Error(`${makers.length} made one slot`);
  const radius = (pick: (member: OraclePlaced) => number): number =>
    makers[0] ? pick(makers[0]) : members.reduce((total, member) => total + member.count * pick(member), 0) / count;
  return {
    key: sum(({ key }) => key),
    value: sum(({ value }) => value),
    count,
    keyRadius: radius(({ keyRadius }) => keyRadius),
    valueRadius: radius(({ valueRadius }) => valueRadius),
  };
}

function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = a.reduce((sum, x, i) => sum + x * b[i]!, 0);
  const norms = Math.hypot(...a) * Math.hypot(...b);
  return norms === 0 ? 0 : dot / norms;
}

/**
 * How far one fold into one group is from the rule, in cosine: 0 where the `novel` least alike of the incoming became slots
 * and every other one went to its most alike slot. `keys` are those of the slots before, undefined where a slot is free.
 */
export function distanceFromRule(
  keys: readonly (readonly number[] | undefined)[],
  incoming: readonly OraclePlaced[],
): number {
  const live = keys.filter(key => key !== undefined);
  const likeness = incoming.map(({ key }) => Math.max(...live.map(slot => cosine(key, slot))));
  const mostOfNew = Math.max(-Infinity, ...likeness.filter((_, i) => incoming[i]!.made));
  const leastOfMerged = Math.min(Infinity, ...likeness.filter((_, i) => !incoming[i]!.made));
  let off = Math.max(0, mostOfNew - leastOfMerged);
  const open = keys.map(key => key);
  for (const { made, slot, key } of incoming) if (made) open[slot] = key;
  for (const { made, slot, key } of incoming) {
    if (made) continue;
    const scores = open.map(other => (other ? cosine(key, other) : -Infinity));
    off = Math.max(off, Math.max(...scores) - scores[slot]!);
  }
  return off;
}

/** What attention gives of slots alone: read keys and values as in retrofit.md, a slot of n tokens weighing as n. */
export function attended(slots: readonly OracleSlot[], query: readonly number[]): number[] {
  const logits = slots.map(({ key, keyRadius, count }) => {
    const dot = key.reduce((sum, x, i) => sum + x * query[i]!, 0);
    return (dot / (Math.hypot(...key) || 1)) * keyRadius + Math.log(count);
  });
  const most = Math.max(...logits);
  const weights = logits.map(logit => Math.exp(logit - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return query.map((_, i) =>
    slots.reduce((sum, { value, valueRadius }, slot) => {
      return sum + (weights[slot]! / total) * (value[i]! / (Math.hypot(...value) || 1)) * valueRadius;
    }, 0),
  );
}
