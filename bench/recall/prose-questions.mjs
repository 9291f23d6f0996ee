// A sentence of the README, the documentation or the list of changes → the file it is about. Taken are sentences that name
// exactly one path, or exactly one identifier that the repository defines once; the name is cut out of the question.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';
import { shuffled } from './figures.mjs';
import { isSource, pathsIn, proseText } from './texts.mjs';

const { blocksOf, linesOf } = await import(join(root, 'out/src/memory/index.js'));
const { definitionsOf } = await import(join(root, 'out/src/memory/definitions/index.js'));

const MOST_QUESTIONS = 100;
const LEAST_WORDS = 8;
const MOST_CHARACTERS = 400;
/** A name that is no plain word: of several words, called, or set as code. */
const compound = /^(?:[a-z]+[A-Z]|[A-Z]+[a-z]+[A-Z]|.+_.)/;

/** Right answers are files, so each file is a group of spans: the blocks it is cut into. */
export function proseTask({ code, files, prose }, seed) {
  const names = namesOf(code, files);
  const asked = new Map();
  for (const path of prose) {
    for (const sentence of sentencesOf(proseText(path))) {
      const question = questionOf(sentence, names, files);
      if (question && !asked.has(question.name)) asked.set(question.name, question);
    }
  }
  const questions = shuffled([...asked.values()], seed).slice(0, MOST_QUESTIONS);
  return {
    name: 'documentation → file',
    files: files.map(({ path, lines }) => ({ path, lines, spans: blocksOf(path, lines) })),
    isByFile: true,
    questions: questions.map(({ text, right }) => ({ text, right })),
  };
}

/** Name → the chosen file that defines it; names that the repository defines several times, or elsewhere, are left out. */
function namesOf(code, files) {
  const chosen = new Map(files.map(({ path }, file) => [path, file]));
  const found = new Map();
  for (const path of pathsIn(code, isSource)) {
    for (const { name, kind } of definitionsOf(path, linesOf(readFileSync(join(code, path), 'utf8')))) {
      if (!['function', 'method', 'class', 'type', 'constant'].includes(kind) || name.length < 4) continue;
      found.set(name, found.has(name) ? undefined : chosen.get(path));
    }
  }
  return new Map([...found].filter(([, file]) => file !== undefined));
}

/** Sentences of paragraphs and list items; code, headings, tables and directives are left out. */
export function sentencesOf(text) {
  const out = [];
  const plain = text.replace(/^(```|~~~)[^]*?^\1/gm, '').replace(/<!--[^]*?-->/g, '');
  for (const paragraph of plain.split(/\n\s*\n|\n(?=\s*(?:[-*+]|\d+\.)\s)/)) {
    if (/^\s*(?:#|\||<|\.\.|:|>|[=~^-]{3,})/.test(paragraph) || /^(?: {4}|\t)/.test(paragraph)) continue;
    if (/\n\s*[=~^"-]{3,}\s*$/.test(paragraph)) continue;
    const line = paragraph.replace(/^\s*(?:[-*+]|\d+\.)\s+/, '').replace(/\s+/g, ' ');
    out.push(...line.trim().split(/(?<=[.!?:])\s+(?=[A-Z`])/));
  }
  return out;
}

export function questionOf(sentence, names, files) {
  // Links keep their words; roles of reStructuredText keep what they name.
  const said = sentence.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/:[\w:]+:`/g, '`');
  const named = new Map();
  for (const [whole, code] of said.matchAll(/`+([^`]+)`+|[\w./-]+\/[\w.-]+\.\w+|[A-Za-z_]\w*(?:\(\))?/g)) {
    const text = (code ?? whole).trim();
    const path = /[./]/.test(text) ? files.findIndex(file => isPathOf(text, file.path)) : -1;
    if (path >= 0) named.set(text, { file: path, name: text });
    for (const word of text.match(/[A-Za-z_$][\w$]*/g) ?? []) {
      const file = names.get(word);
      if (file === undefined || path >= 0) continue;
      if (code !== undefined || compound.test(word) || whole.endsWith('()')) named.set(word, { file, name: word });
    }
  }
  if (named.size !== 1) return undefined;
  const [{ file, name }] = named.values();
  const literal = name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const text = said
    .replace(new RegExp(`\`+[^\`]*(?<![\\w$])${literal}(?![\\w$])[^\`]*\`+`, 'g'), ' ')
    .replace(new RegExp(`(?<![\\w$])${literal}(?![\\w$])(?:\\(\\))?`, 'gi'), ' ')
    .replace(/\((?:Pull |:issue:)?#?\d+(?:, (?:Pull )?#?\d+)*\)|:?(?:issue|pr):?`?\d+`?/gi, '')
    .replace(/[`*]/g, '')
    .replace(/\s+/g, ' ')
    .trim();
  const isEnough = text.split(' ').length >= LEAST_WORDS && text.length <= MOST_CHARACTERS;
  return isEnough ? { name, right: [file], text } : undefined;
}

/** `lib/client.js`, `client.js`; a bare stem is a word. */
function isPathOf(text, path) {
  return (
    /\.\w+$/.test(text) &&
    (path === text || path.endsWith(`/${text}`) || (!text.includes('/') && basename(path) === text))
  );
}
