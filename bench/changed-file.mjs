// A changed file: time of a patch beside that of composing again, and how far a state drifts that is only ever patched.
// The installed model's fold graphs; gists of its shape, mixed from the real ones of the store given.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../scripts/set-up.mjs';

const built = path => import(join(root, 'out/src', path));
const { Composer } = await built('engine/compose.js');
const { patchState } = await built('engine/patch.js');
const { Folder, joinSlots } = await built('engine/state.js');
const { packSlots, unpackSlots } = await built('engine/packing.js');
const { stateBytes } = await built('memory/state-blob.js');
const { keepState } = await built('memory/kept-state.js');
const { openStore } = await built('memory/store/index.js');
const { readManifest } = await built('engine/manifest.js');
const { OpenState } = await built('engine/open-state.js');

const QUERIES = 6;

export async function changedFile({ modelFolder, store, files = 300 }) {
  const { architecture } = await readManifest(modelFolder);
  const graphs = await Folder.load(modelFolder, { threads: 2 });
  const real = await realGists(store);
  const random = generator(1);
  const gist = () => mixedGist(real, random);
  let members = Array.from({ length: files }, () => ({ gist: gist(), tokens: 800 }));
  const tokens = files * 800;
  const budget = Math.min(2048, Math.floor(16 * Math.sqrt(tokens)));
  const shape = { groups: members[0].gist.groups, headSize: architecture.headSize };
  const compose = async of => {
    const composer = new Composer(
      graphs,
      shape,
      budget,
      of.reduce((sum, { gist }) => sum + gist.slots, 0),
    );
    for (const { gist } of of) await composer.add(gist);
    const { state, places } = await composer.finish();
    of.forEach((member, i) => (member.places = places[i]));
    return state;
  };
  let [state, ms] = await timed(() => compose(members));
  const { slots } = members[0].gist;
  console.log(`${files} files, gists of ${slots} slots, composed to ${state.slots} slots: ${(ms / 1000).toFixed(1)} s`);
  const about = {
    digest: '00'.repeat(32),
    identity: '00'.repeat(32),
    tokens,
    patchedTokens: 0,
    budget,
    composedBudget: budget,
  };
  console.log(`its bytes: ${(stateBytes(state) / 1e6).toFixed(1)} MB`);
  const kept = await mkdtemp(join(tmpdir(), 'longview-state-'));
  const target = await openStore(kept, { workspace: '' });
  const next = { state: { ...about, slots: state }, model: 'model', added: [], places: [] };
  const [, writeMs] = await timed(() => keepState(target, next));
  console.log(`encoded and written to a store in ${writeMs.toFixed(0)} ms`);
  await target.dispose();
  await rm(kept, { recursive: true, force: true });

  let coarse = state; // The same, its rows kept as int8.
  const times = [];
  let patched = 0;
  const points = [0.1, 0.4].map(share => Math.max(1, Math.round((share * files) / 2)));
  console.log(
    'share patched | sums: int16, int8 (error by the sums) | attention: patched, int8, composed again (error)',
  );
  await report(0);
  for (const until of points) {
    while (patched < until) {
      const at = Math.floor(random() * members.length);
      const [left] = members.splice(at, 1);
      const added = { gist: gist(), tokens: 800 };
      const change = { remove: [left], add: [added.gist], budget };
      const [after, took] = await timed(() => patchState(graphs, state, change));
      times.push(took);
      if (times.length === 5) showTimes();
      added.places = after.places[0];
      state = after.state;
      const open = new OpenState(coarse);
      open.subtract(unpackSlots(left.gist), left.places);
      open.settle();
      open.grow(state.slots);
      open.add(unpackSlots(added.gist), added.places);
      open.settle();
      coarse = asInt8(open.close());
      members.splice(at, 0, added);
      patched++;
    }
    await report((2 * patched) / files);
  }
  showTimes();

  function showTimes() {
    const sorted = [...times].sort((a, b) => a - b);
    const median = sorted[sorted.length >> 1].toFixed(0);
    console.log(`${times.length} patches of one file: median ${median} ms, fastest ${sorted[0].toFixed(0)} ms`);
  }

  async function report(share) {
    const fresh = members.map(({ gist }) => ({ gist }));
    const again = await compose(fresh);
    const queries = queriesOf(members, random);
    const exact = attended(joined(members), queries);
    const off = of => meanError(attended(unpackSlots(of), queries), exact).toFixed(4);
    console.log(
      `${(100 * share).toFixed(0)} % | ${sumError(state, members)}, ${sumError(coarse, members)} | ${off(state)}, ${off(coarse)}, ${off(again)}`,
    );
  }
}

/** Gists of a workspace's store, at most 64. */
async function realGists(store) {
  const opened = await openStore(store, { workspace: '' });
  const gists = opened
    .listKeys()
    .slice(0, 64)
    .map(({ key }) => opened.getMemory(key));
  await opened.dispose();
  return gists.filter(memory => memory?.ok && memory.value.gist.slots > 0).map(({ value }) => value.gist);
}

/** 20 slots, each of two real ones and noise: of the real ones' directions and lengths, and no two alike. */
function mixedGist(real, random) {
  const slots = 20;
  const [one, other] = [real[Math.floor(random() * real.length)], real[Math.floor(random() * real.length)]];
  const { groups, headSize } = one;
  const [a, b] = [unpackSlots(one), unpackSlots(other)];
  const cells = groups * slots;
  const sums = { keySum: new Float32Array(cells * headSize), valueSum: new Float32Array(cells * headSize) };
  const [count, keyRadius, valueRadius] = [new Float32Array(cells), new Float32Array(cells), new Float32Array(cells)];
  for (let slot = 0; slot < slots; slot++) {
    const [s, t] = [Math.floor(random() * one.slots), Math.floor(random() * other.slots)];
    const tokens = 1 + Math.floor(random() * 79);
    for (let group = 0; group < groups; group++) {
      const [cell, from, and] = [group * slots + slot, group * one.slots + s, group * other.slots + t];
      for (const name of ['keySum', 'valueSum']) {
        const mean = i =>
          (0.7 * a[name][from * headSize + i]) / a.count[from] + (0.3 * b[name][and * headSize + i]) / b.count[and];
        let square = 0;
        for (let i = 0; i < headSize; i++) square += mean(i) ** 2;
        const noise = 0.4 * Math.sqrt(square / headSize);
        for (let i = 0; i < headSize; i++) {
          sums[name][cell * headSize + i] = tokens * (mean(i) + noise * (random() + random() - 1) * Math.sqrt(6));
        }
      }
      count[cell] = tokens;
      keyRadius[cell] = a.keyRadius[from];
      valueRadius[cell] = a.valueRadius[from];
    }
  }
  return packSlots({ groups, slots, headSize, ...sums, count, keyRadius, valueRadius });
}

/** As if the rows were kept as int8. */
function asInt8(state) {
  const round = rows => rows.map(value => Math.round((value * 127) / 32767) * (32767 / 127));
  return { ...state, keys: round(state.keys), values: round(state.values) };
}

/** Root mean square error of the slots' key and value sums by that of the sums themselves. */
function sumError(state, members) {
  const { groups, slots, headSize } = state;
  const kept = unpackSlots(state);
  let [off, all] = [0, 0];
  for (const name of ['keySum', 'valueSum']) {
    const exact = new Float64Array(groups * slots * headSize);
    for (const { gist, places } of members) {
      const sums = unpackSlots(gist)[name];
      places.forEach((place, from) => {
        const to = Math.floor(from / gist.slots) * slots + (place >>> 1);
        for (let i = 0; i < headSize; i++) exact[to * headSize + i] += sums[from * headSize + i];
      });
    }
    exact.forEach((sum, i) => {
      off += (kept[name][i] - sum) ** 2;
      all += sum ** 2;
    });
  }
  return Math.sqrt(off / all).toExponential(1);
}

/** All slots of all gists side by side: nothing merged. */
function joined(members) {
  return joinSlots(members.map(({ gist }) => unpackSlots(gist)));
}

/** Directions of keys in the state, turned by noise, long enough for logits that spread over 8. */
function queriesOf(members, random) {
  return Array.from({ length: QUERIES }, () => {
    const sums = unpackSlots(members[Math.floor(random() * members.length)].gist);
    const slot = Math.floor(random() * sums.slots);
    return (group, i) => {
      const start = (group * sums.slots + slot) * sums.headSize;
      const key = sums.keySum.subarray(start, start + sums.headSize);
      return key[i] / Math.hypot(...key);
    };
  }).map(direction => ({ direction, noise: Float64Array.from({ length: 256 }, () => (random() * 2 - 1) / 8) }));
}

/** What attention gives of the slots alone, as the session reads them: [query][group · d]. */
function attended({ groups, slots, headSize, keySum, valueSum, count, keyRadius, valueRadius }, queries) {
  const length = (sums, cell) => {
    let square = 0;
    for (let i = cell * headSize; i < (cell + 1) * headSize; i++) square += sums[i] ** 2;
    return Math.sqrt(square) || 1;
  };
  return queries.map(({ direction, noise }) => {
    const out = new Float64Array(groups * headSize);
    for (let group = 0; group < groups; group++) {
      const query = Float64Array.from({ length: headSize }, (_, i) => direction(group, i) + noise[i]);
      const logits = new Float64Array(slots).fill(-Infinity);
      let typical = 0;
      for (let slot = 0; slot < slots; slot++) typical += keyRadius[group * slots + slot] / slots;
      for (let slot = 0; slot < slots; slot++) {
        const cell = group * slots + slot;
        if (count[cell] === 0) continue;
        let dot = 0;
        for (let i = 0; i < headSize; i++) dot += query[i] * keySum[cell * headSize + i];
        const key = (dot / length(keySum, cell)) * (keyRadius[cell] / typical);
        logits[slot] = 8 * key + Math.log(count[cell]);
      }
      const most = logits.reduce((a, b) => Math.max(a, b), -Infinity);
      const weights = logits.map(logit => Math.exp(logit - most));
      const total = weights.reduce((a, b) => a + b, 0);
      for (let slot = 0; slot < slots; slot++) {
        const cell = group * slots + slot;
        if (weights[slot] === 0) continue;
        const weight = (weights[slot] / total) * (valueRadius[cell] / length(valueSum, cell));
        for (let i = 0; i < headSize; i++) out[group * headSize + i] += weight * valueSum[cell * headSize + i];
      }
    }
    return out;
  });
}

/** Mean over queries of |a - b| / |b|. */
function meanError(a, b) {
  const norm = of => Math.sqrt(of.reduce((sum, x) => sum + x * x, 0));
  return a.reduce((sum, out, q) => sum + norm(out.map((x, i) => x - b[q][i])) / norm(b[q]), 0) / a.length;
}

function generator(seed) {
  let x = seed;
  return () => {
    x = (Math.imul(x, 1664525) + 1013904223) >>> 0;
    return x / 2 ** 32;
  };
}

async function timed(work) {
  const start = performance.now();
  const value = await work();
  return [value, performance.now() - start];
}
