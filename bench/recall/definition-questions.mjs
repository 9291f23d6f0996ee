// Use of an identifier → its definition in another file. Right answers are jedi's (Python) and the language service's
// (TypeScript, JavaScript); the peer is the exact symbol index: all definitions of that name, in the order of paths. Longview
// answers as its hover does (src/assist/recall-at.ts), which asks no model.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { SetUpError, root } from '../../scripts/set-up.mjs';
import { cacheFolder, fetched, python } from './fetch.mjs';
import { shuffled } from './figures.mjs';
import { jediSources } from './repositories.mjs';
import { scriptUses } from './script-uses.mjs';
import { isSource, pathsIn } from './texts.mjs';

const { recallAt } = await import(join(root, 'out/src/assist/index.js'));
const { linesOf } = await import(join(root, 'out/src/memory/index.js'));
const { DefinitionIndex, definitionText, definitionsOf, languageOf } = await import(
  join(root, 'out/src/memory/definitions/index.js')
);

const MOST_USES = 400;
/** The hover sends this much of what stands before the name. */
const MOST_BEFORE = 4000;

/** {unique, shared}: each {uses, candidates (mean), ranks: {method: []}}; undefined for languages without right answers here. */
export async function definitionRanks({ code, seed }) {
  const paths = pathsIn(code, isSource);
  const found = await usesIn(code, paths);
  if (!found || found.uses.length === 0) return undefined;
  const definitions = new Map();
  for (const one of found.definitions) {
    definitions.set(one.name, [...(definitions.get(one.name) ?? []), one]);
  }
  const kinds = { unique: [], shared: [] };
  let unlisted = 0;
  for (const use of distinct(found.uses)) {
    const named = (definitions.get(use.name) ?? []).filter(({ path }) => path !== use.path);
    const right = named.findIndex(({ path, line }) => path === use.right.path && isAt(line, use.right.line));
    if (right < 0) unlisted++;
    else kinds[named.length === 1 ? 'unique' : 'shared'].push({ ...use, named: named.length, rank: right + 1 });
  }
  const memory = { definitions: definitionsAt(code, paths) };
  const ranked = {};
  for (const [kind, all] of Object.entries(kinds)) {
    const uses = shuffled(all, seed).slice(0, MOST_USES);
    const own = [];
    for (const use of uses) own.push(await rankOfHover(use, code, memory));
    ranked[kind] = {
      uses: uses.length,
      of: all.length,
      candidates: uses.reduce((sum, { named }) => sum + named, 0) / Math.max(1, uses.length),
      byChance: uses.reduce((sum, { named }) => sum + meanReciprocal(named), 0) / Math.max(1, uses.length),
      ranks: { 'symbol index': uses.map(({ rank }) => rank), Longview: own },
    };
  }
  return { ...ranked, unlisted };
}

/** One use of a name in a file is asked about, and one for each other definition that it means there. */
function distinct(uses) {
  const seen = new Map();
  for (const use of uses) {
    const key = JSON.stringify([use.path, use.name, use.right]);
    if (!seen.has(key)) seen.set(key, use);
  }
  return [...seen.values()];
}

/** Decorators may stand between where two tools say that a definition begins. */
function isAt(line, other) {
  return Math.abs(line - other) <= 1;
}

/** Of the right one among `n` in an order drawn by chance. */
function meanReciprocal(n) {
  return Array.from({ length: n }, (_, at) => 1 / (at + 1)).reduce((sum, value) => sum + value, 0) / n;
}

async function rankOfHover({ path, line, column, name, right }, code, memory) {
  const lines = memory.definitions.linesOf(path);
  const start = [...lines.slice(0, line - 1), lines[line - 1].slice(0, column + name.length)].join('\n');
  const request = { memory, path, identifier: name, before: start.slice(-MOST_BEFORE) };
  const { candidates } = await recallAt(request, { patienceMs: { list: 60_000, model: 0 }, limit: Infinity });
  const at = candidates.findIndex(one => one.path === right.path && isAt(one.startLine, right.line));
  return at < 0 ? Infinity : at + 1;
}

/** The product's list of definitions over the folder, without a store. */
function definitionsAt(code, paths) {
  const index = new DefinitionIndex();
  const texts = new Map(paths.map(path => [path, readFileSync(join(code, path), 'utf8')]));
  for (const [path, text] of texts) index.put({ path, contentHash: path }, text);
  const lines = new Map([...texts].map(([path, text]) => [path, linesOf(text)]));
  return {
    languageOf,
    linesOf: path => lines.get(path),
    async find(name) {
      const own = index.named(name);
      const exact = own.length > 0;
      const definitions = exact ? own : index.variantsOf(name).flatMap(other => index.named(other));
      return { definitions, exact, files: index.files, complete: true };
    },
    show: async definition => definitionText(definition.path, lines.get(definition.path), definition),
    weigh: async () => undefined,
    textOf: async path => texts.get(path),
    definitionsIn: (path, text) => definitionsOf(path, linesOf(text)),
  };
}

/** Asked once for the same files by the same code: jedi takes minutes. */
async function usesIn(code, paths) {
  const scripts = paths.filter(path => /\.[cm]?[jt]sx?$/.test(path));
  const own = scripts.length > 0 ? scripts : paths.filter(path => path.endsWith('.py'));
  if (own.length === 0) return undefined;
  const asker = join(root, 'bench/recall', scripts.length > 0 ? 'script-uses.mjs' : 'python-uses.py');
  const digest = createHash('sha256').update(readFileSync(asker));
  for (const path of own) digest.update(`${path}\0`).update(readFileSync(join(code, path)));
  const kept = join(cacheFolder(), 'uses', `${digest.digest('hex').slice(0, 16)}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
  const found = scripts.length > 0 ? scriptUses(code, own) : await pythonUses(asker, code, own);
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, JSON.stringify(found));
  return found;
}

async function pythonUses(script, code, paths) {
  const packages = [];
  for (const source of jediSources) packages.push(await fetched(source));
  return new Promise((done, fail) => {
    const child = execFile(python, [script, code, ...packages], { maxBuffer: 1 << 30 }, (error, stdout, stderr) => {
      if (error) fail(new SetUpError(`jedi failed: ${stderr.trim().split('\n').at(-1)}`));
      else done(JSON.parse(stdout));
    });
    child.stdin.end(JSON.stringify(paths));
  });
}
