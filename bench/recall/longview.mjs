// Longview's side: the chosen files are read into a store of their own with the installed model, and spans scored as the
// product scores blocks (src/memory): attention over the merged slots, the fitted formula, the words' score beside it.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { note, root } from '../../scripts/set-up.mjs';
import { cacheFolder } from './fetch.mjs';

const built = path => import(join(root, 'out/src', path));
const { openEngine } = await built('engine/index.js');
const { dataFolder, findModel } = await built('models/index.js');
const { DEFAULT_SETTINGS, openWorkspaceMemory, questionTerms } = await built('memory/index.js');
const { isOfUse, openStore, storeFolder } = await built('memory/store/index.js');
const { RecallIndex } = await built('memory/recall-index.js');
const { LineMass } = await built('memory/line-mass.js');
const { TextMass } = await built('memory/text-mass.js');
const { attentionScore, bestByFirstScore, fusedScores, rowScore, standardised } = await built('memory/rank.js');
const { spanShares } = await built('memory/span-shares.js');
const { TermIndex, bm25, bm25OfTexts } = await built('memory/lexical.js');

/** The engine with the installed default model; `values`: SHA-256 of its fitted recall values. */
export async function openModel(threads = 2) {
  const { folder, name } = await findModel(dataFolder());
  const engine = await openEngine(folder, { threads });
  const values = createHash('sha256')
    .update(await readFile(join(folder, 'recall.safetensors')))
    .digest('hex');
  return { engine, name, values };
}

/**
 * Reads the folder where that was not done before: memories stay in the cache. One store for each model and number of tokens a
 * slot, with gists or without, since what was read once counts as read whatever they are now.
 */
export async function readFolder(engine, folder, tokensPerRecallSlot, stateTokens = 0) {
  const data = join(
    cacheFolder(),
    `memories-${tokensPerRecallSlot}-${engine.model.fingerprint.slice(0, 8)}${stateTokens > 0 ? '-gists' : ''}`,
  );
  const memory = await openWorkspaceMemory({
    root: folder,
    data,
    engine,
    settings: { tokensPerRecallSlot, stateTokens },
  });
  try {
    const { filesRead, tokensRead, readMs } = await memory.refresh({ state: false });
    if (filesRead > 0) note(`  read ${filesRead} files, ${tokensRead} tokens, in ${Math.round(readMs / 1000)} s`);
    const { coverage, tokens } = memory.status();
    if (coverage.read < coverage.total)
      note(`  ${coverage.total - coverage.read} files were not read: they can't be found`);
    return { root: memory.root, data, tokens };
  } finally {
    await memory.dispose();
  }
}

/**
 * Puts what `readFolder` read into the engine, of one folder or of several as one memory (the paths of its task then begin
 * with the folder's `name`); `wanted`: of which paths of a folder. `scorer(task)` gives the scores of the task's spans.
 */
export async function openMemory(engine, folders, wanted = () => true) {
  const parts = [];
  for (const { name, root: folder, data } of folders) {
    const store = await openStore(storeFolder(data, folder), { workspace: folder });
    const index = new RecallIndex(store);
    try {
      await index.sync(store.ledger.all().filter(file => isOfUse(file) && wanted(file.path)));
      await index.push(engine);
    } finally {
      await store.dispose();
    }
    parts.push(...index.all().map(part => (name === undefined ? part : { ...part, path: `${name}/${part.path}` })));
  }
  return {
    scorer: task => new Scorer(engine, parts, task),
    dispose: async () => {
      for (const { key } of parts) await engine.dropRecall(key);
    },
  };
}

class Scorer {
  constructor(engine, parts, task) {
    this.engine = engine;
    this.parts = parts;
    const indexed = ({ path, lines, spans }) => TermIndex.of(lines).then(index => ({ path, spans, index }));
    this.indexed = Promise.all(task.files.map(indexed));
  }

  /** Float64 [spans] each: attention alone, words alone, both as the product adds them; what it leaves out is -Infinity. */
  async of(question) {
    const { keyHeads, keyHeadOf } = this.engine.model.recall;
    const { lexicalWeight } = DEFAULT_SETTINGS;
    const ids = this.parts.map(({ key }) => key);
    const scores = await this.engine.scoreRecall(question, ids);
    const { parameters } = scores;
    const masses = new Map();
    this.parts.forEach(({ path, firstLine, tokens, provenance, slots }, at) => {
      const mass = LineMass.of(provenance, slots, tokens, scores, scores.slotStart[at], keyHeadOf);
      const known = masses.get(path) ?? { own: [], parts: [] };
      masses.set(path, { own: [...known.own, { firstLine, tokens, mass }], parts: [...known.parts, at] });
    });
    const files = await this.indexed;
    const blocks = files.flatMap(({ path, spans }, file) => {
      const { own = [], parts = [] } = masses.get(path) ?? {};
      const mass = new TextMass(own);
      return spans.map(block => ({ block, parts, mass, tokens: mass.tokensOn(block), file }));
    });
    const texts = files.map(({ index, spans, path }) => ({ index, blocks: spans, path }));
    const terms = questionTerms(question);
    const words = [...(await bm25(terms, texts))];
    const ofTexts = await bm25OfTexts(terms, texts);
    const first = blocks.map(({ block, mass }) => attentionScore(mass, block, parameters));
    const chosen = bestByFirstScore(first, words, lexicalWeight);
    const shares = await this.sharesOf(chosen, blocks, scores.slotStart, keyHeads);
    const { found, nullMass } = await this.engine.scoreSpans(question, ids, shares);
    const attention = new Float64Array(blocks.length).fill(-Infinity);
    chosen.forEach((at, i) => {
      const { block, mass } = blocks[at];
      const own = of => parameters.weight.map((_, head) => of[head * chosen.length + i]);
      attention[at] = rowScore(own(found), mass, block, parameters, nullMass && own(nullMass));
    });
    const fused = new Float64Array(blocks.length).fill(-Infinity);
    const ranked = fusedScores(
      {
        attention: chosen.map(at => attention[at]),
        words: chosen.map(at => words[at]),
        wordsOfText: chosen.map(at => ofTexts[blocks[at].file]),
      },
      lexicalWeight,
    );
    chosen.forEach((at, i) => (fused[at] = ranked[i]));
    return { attention, words: standardised(words), fused };
  }

  /** Of a small repository all blocks are chosen for every question. */
  sharesOf(chosen, blocks, slotStart, keyHeads) {
    const own = () =>
      spanShares(
        chosen.map(at => blocks[at]),
        this.parts,
        slotStart,
        keyHeads,
      );
    if (chosen.length < blocks.length) return own();
    return (this.shares ??= own());
  }
}
