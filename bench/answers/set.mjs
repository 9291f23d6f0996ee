// The questions of the benchmark: one file a repository in questions/. Never holds text of a repository: only paths, lines and our own
// words. `words`: a right answer has one of them. No places: the answer is not in the repository.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('questions', import.meta.url));

/** Every repository with its questions, tuning part first; throws where the set contradicts itself. */
export function readSet() {
  const repositories = readdirSync(folder)
    .filter(name => name.endsWith('.json'))
    .map(name => JSON.parse(readFileSync(join(folder, name), 'utf8')));
  for (const repository of repositories) {
    repository.questions = repository.questions.map(question => parsed(repository, question));
  }
  return repositories.sort((a, b) => b.part.localeCompare(a.part) || a.name.localeCompare(b.name));
}

function parsed(repository, { question, places, words = [] }) {
  const wrong = why => new Error(`${repository.name}: "${question}": ${why}`);
  for (const word of words) if (hasWord(question, word)) throw wrong(`"${word}" stands in the question`);
  return {
    question,
    words,
    places: places.map(text => {
      const [, path, start, end] = /^(.+):(\d+)-(\d+)$/.exec(text) ?? [];
      if (!repository.files.includes(path)) throw wrong(`${text} is in no file of the set`);
      const place = { path, startLine: Number(start), endLine: Number(end) };
      if (place.startLine < 1 || place.endLine < place.startLine) throw wrong(`${text} has no lines`);
      return place;
    }),
  };
}

const LONG = 5;

/**
 * Whether a text has a word or number, whatever its case: never in the middle of a longer one, and as its beginning (`resize` in
 * `resized`) only where it has so many signs and ends in a letter.
 */
export function hasWord(text, word) {
  const [within, sought] = [text.toLowerCase(), word.toLowerCase()];
  const isWord = character => character !== undefined && /[\p{L}\p{N}_]/u.test(character);
  const mayGoOn = sought.length >= LONG && /\p{L}$/u.test(sought);
  for (let at = within.indexOf(sought); at >= 0; at = within.indexOf(sought, at + 1)) {
    const joinedBefore = isWord(sought[0]) && isWord(within[at - 1]);
    const joinedAfter = !mayGoOn && isWord(sought.at(-1)) && isWord(within[at + sought.length]);
    if (!joinedBefore && !joinedAfter) return true;
  }
  return false;
}
