// Use of an identifier → its definition in another file. Right answers are jedi's (Python), the language service's (TypeScript,
// JavaScript) and those of Go's type checker; the peer is the exact symbol index: all definitions of that name, in the order of paths. Longview
// answers as its hover does (src/assist/recall-at.ts), which asks no model.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { SetUpError, root } from '../../scripts/set-up.mjs';
import { cacheFolder, fetched, output, python } from './fetch.mjs';
import { shuffled } from './figures.mjs';
import { goSource, jediSources } from './repositories.mjs';
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

/** {unique, shared}: each {uses, candidates (mean), certainAndWrong, asked, ranks: {method: []}}; undefined for languages without right answers here. */
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
    let certainAndWrong = 0;
    for (const use of uses) {
      const { rank, certainty } = await hover(use, memory);
      own.push(rank);
      if (certainty === 'one' && rank !== 1) certainAndWrong++;
    }
    ranked[kind] = {
      uses: uses.length,
      of: all.length,
      candidates: uses.reduce((sum, { named }) => sum + named, 0) / Math.max(1, uses.length),
      certainAndWrong,
      byChance: uses.reduce((sum, { named }) => sum + meanReciprocal(named), 0) / Math.max(1, uses.length),
      asked: uses.map(({ path, line, name, right }) => ({ path, line, name, right })),
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

async function hover({ path, line, column, name, right }, memory) {
  const lines = memory.definitions.linesOf(path);
  const start = [...lines.slice(0, line - 1), lines[line - 1].slice(0, column + name.length)].join('\n');
  const request = { memory, path, identifier: name, before: start.slice(-MOST_BEFORE) };
  const { candidates, certainty } = await recallAt(request, {
    patienceMs: { list: 60_000, model: 0 },
    limit: Infinity,
  });
  const at = candidates.findIndex(one => one.path === right.path && isAt(one.startLine, right.line));
  return { rank: at < 0 ? Infinity : at + 1, certainty };
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
      return { definitions, exact, likely: index.likely(name), files: index.files, complete: true };
    },
    show: async definition => definitionText(definition.path, lines.get(definition.path), definition),
    weigh: async () => undefined,
    textOf: async path => texts.get(path),
    definitionsIn: (path, text) => definitionsOf(path, linesOf(text)),
  };
}

/** By extension of the files asked about: what answers. The first that a folder has files of is asked. */
const askers = [
  { files: /\.[cm]?[jt]sx?$/, program: 'script-uses.mjs', ask: (_, code, paths) => scriptUses(code, paths) },
  { files: /\.py$/, program: 'python-uses.py', ask: pythonUses },
  { files: /\.go$/, program: 'go-uses.go', ask: goUses },
];

/** Asked once for the same files by the same code: jedi takes minutes. */
async function usesIn(code, paths) {
  const asker = askers.find(({ files }) => paths.some(path => files.test(path)));
  if (!asker) return undefined;
  const own = paths.filter(path => asker.files.test(path));
  const program = join(root, 'bench/recall', asker.program);
  const digest = createHash('sha256').update(readFileSync(program));
  for (const path of own) digest.update(`${path}\0`).update(readFileSync(join(code, path)));
  const kept = join(cacheFolder(), 'uses', `${digest.digest('hex').slice(0, 16)}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8'));
  const found = await asker.ask(program, code, own);
  mkdirSync(dirname(kept), { recursive: true });
  writeFileSync(kept, JSON.stringify(found));
  return found;
}

async function pythonUses(program, code, paths) {
  const packages = [];
  for (const source of jediSources) packages.push(await fetched(source));
  return asked('jedi', python, [program, code, ...packages], paths);
}

/** Compiled without Go's own command, which would want a copy of the sources of its library. */
async function goUses(program, code, paths) {
  const goroot = join(await fetched(goSource), 'usr/lib/go-1.19');
  const [tools, library] = [join(goroot, 'pkg/tool/linux_amd64'), join(goroot, 'pkg/linux_amd64')];
  const work = mkdtempSync(join(tmpdir(), 'longview-go-uses-'));
  const env = { ...process.env, GOROOT: goroot };
  try {
    const [object, binary] = [join(work, 'go-uses.o'), join(work, 'go-uses')];
    await output(join(tools, 'compile'), ['-p', 'main', '-I', library, '-o', object, program], { env });
    await output(join(tools, 'link'), ['-L', library, '-o', binary, object], { env });
    return await asked('go-uses', binary, [code], paths, env);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** What a program prints as JSON when it is given the paths. */
function asked(title, command, args, paths, env = process.env) {
  return new Promise((done, fail) => {
    const child = execFile(command, args, { maxBuffer: 1 << 30, env }, (error, stdout, stderr) => {
      if (error) fail(new SetUpError(`${title} failed: ${stderr.trim().split('\n').at(-1)}`));
      else done(JSON.parse(stdout));
    });
    child.stdin.end(JSON.stringify(paths));
  });
}
