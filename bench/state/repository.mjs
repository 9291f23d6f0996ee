// One repository's side of the ablation: what is recalled for each target, the gists of its files, and states composed of all of
// them or of all but one, as the product composes them (memory/workspace-state).
import { join } from 'node:path';
import { note, root } from '../../scripts/set-up.mjs';
import { readFolder } from '../recall/longview.mjs';

const built = path => import(join(root, 'out/src', path));
const { DEFAULT_SETTINGS, openWorkspaceMemory } = await built('memory/index.js');
const { isOfUse, openStore, partsOf, storeFolder } = await built('memory/store/index.js');
const { stateSlots } = await built('memory/settings.js');
const { unpackSlots } = await built('engine/packing.js');

/** As `ask`: files whose gists are paged in. */
const BEST_FILES = 2;
const PLACES = 12;

/** `targets` with `passages` (best first) and `files` (the best ones), neither of a target's own file. */
export async function withRecalled(engine, { folder }, targets) {
  const { data } = await readFolder(engine, folder, DEFAULT_SETTINGS.tokensPerRecallSlot, Infinity);
  const memory = await openWorkspaceMemory({ root: folder, data, engine });
  try {
    const out = [];
    for (const target of targets) {
      const spans = await memory.recall(target.query, { limit: PLACES });
      const passages = spans.filter(({ path }) => path !== target.own);
      out.push({ ...target, passages, files: [...new Set(passages.map(({ path }) => path))].slice(0, BEST_FILES) });
    }
    return { data, targets: out };
  } finally {
    await memory.dispose();
  }
}

/** Gists by path, in the order of paths: {path, tokens, gist (packed)}. */
export async function gistsOf({ folder }, data) {
  const store = await openStore(storeFolder(data, folder), { workspace: folder });
  try {
    const rows = store.ledger.all().filter(isOfUse);
    return rows
      .sort((a, b) => (a.path < b.path ? -1 : 1))
      .flatMap(row => partsOf(row).map(({ key }) => ({ path: row.path, memory: store.getGist(key) })))
      .filter(({ memory }) => memory?.ok && memory.value.gist.slots > 0)
      .map(({ path, memory: { value } }) => ({ path, tokens: value.tokens, gist: value.gist }));
  } finally {
    await store.dispose();
  }
}

/** The same of the same files, read again with so many times the slots. */
export async function largerGists(engine, texts, gists, times) {
  const larger = [];
  for (const { path, tokens, gist } of gists) {
    if (larger.some(one => one.path === path)) throw new Error(`${path} was read in parts.`);
    const { text } = texts.files.find(file => file.path === path);
    const request = { label: path, text, tokensPerRecallSlot: DEFAULT_SETTINGS.tokensPerRecallSlot };
    const read = await engine.read({ ...request, gistSlots: times * gist.slots });
    larger.push({ path, tokens, gist: read.gist });
    note(`${path}: ${read.gist.slots} slots for ${gist.slots}`);
  }
  return larger;
}

/** The state of all gists but those of `left`, as `giveStates` takes it, with so many times the slots. */
export async function composed(engine, gists, left, times) {
  const used = gists.filter(({ path }) => path !== left);
  const tokens = used.reduce((sum, one) => sum + one.tokens, 0);
  const incoming = used.reduce((sum, { gist }) => sum + gist.slots, 0);
  const budget = times * stateSlots(tokens, DEFAULT_SETTINGS);
  const { state } = await engine.compose(
    used.map(({ gist }) => gist),
    { budget, incoming },
  );
  return { slots: unpackSlots(state), tokensPerSlot: Math.max(1, tokens / state.slots) };
}

export function weighed({ gist, tokens }) {
  return { slots: unpackSlots(gist), tokensPerSlot: Math.max(1, tokens / gist.slots) };
}
