// What needles are hidden in, unit by unit without end: noise, prose made up here, code of installed packages, key lines,
// lists of words. A needle may stand between any two units. Nothing here holds a number of five digits but the key lines.
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';
import { draw, numbers, pick } from './random.mjs';

/** Characters. A needle can only stand between blocks. */
const LONGEST_BLOCK = 2000;

const adjectives =
  'amber bitter broad calm clever copper crooked dusty early faint foreign gentle golden hollow humble idle ivory jolly keen late lively marble mellow narrow noisy odd pale patient plain proud quick quiet rusty shallow silver sleepy slow solid stormy sunny tall tame tidy velvet warm wild wooden young'.split(
    ' ',
  );
const nouns =
  'anchor arrow barrel basket bell blanket bottle bridge bucket button candle canoe carpet castle chimney cloud compass cradle curtain desk drum engine falcon feather fence ferry fiddle flag forest fountain garden gate glove hammer harbour hat island jacket kettle kitchen ladder lamp lantern lemon letter meadow mirror mountain needle orchard oven parcel pencil piano pillow pocket pond ribbon river road rope saddle sail school shovel spoon stable statue stone table tower tunnel valley violin wagon wheel window'.split(
    ' ',
  );

/** `count` names such as "amber falcon", none twice. */
export function names(random, count) {
  const found = new Set();
  while (found.size < count) found.add(`${pick(random, adjectives)} ${pick(random, nouns)}`);
  return [...found];
}

export function* noise() {
  for (;;) yield 'The kettle hums. The rain goes on. Someone closes a door. The street is quiet again. ';
}

const people =
  'the baker|a retired sailor|my aunt|the schoolmaster|an old gardener|the mayor|two students|the night watchman|a travelling musician|the librarian|our neighbour|the carpenter|a young doctor|the ferryman|the clockmaker|several farmers|the postman|a stranger'.split(
    '|',
  );
const acts =
  'repaired|painted|forgot about|borrowed|described|looked for|carried away|measured|argued over|gave away|dreamed of|kept|photographed|complained about|returned|cleaned|hid|found'.split(
    '|',
  );
const places =
  'near the market|behind the church|on the far side of the river|in the cellar|at the edge of the village|under the old bridge|in the reading room|along the coast|above the workshop|by the railway line|in the garden|at the crossroads'.split(
    '|',
  );
const times =
  'one morning in spring|late in the autumn|before anyone else was awake|during the long winter|on market day|after the storm|a few weeks later|when the bells had stopped|every other evening|in the last days of summer|shortly after lunch|at dusk'.split(
    '|',
  );
const reasons =
  'because nobody had asked for it|although it was hardly worth the trouble|which surprised everyone|since the roads were wet|and told no one about it|as people there have always done|so that the children could see it|and was sorry afterwards|while the others were talking|for reasons that were never explained'.split(
    '|',
  );
const thoughts =
  'It is easy to think that such things do not matter, but a town is made of them.|Whoever has lived by the water knows how slowly the seasons change there.|There is a kind of patience that cannot be taught.|Work that is done well is seldom noticed.|Most stories begin long before the first word of them.|Nothing in a house is older than its habits.|People remember the weather better than the reasons for what they did.|A good tool outlives the hand that made it.|What is near is often looked at last.|Silence has many causes, and only some of them are sad.'.split(
    '|',
  );

const capital = text => text[0].toUpperCase() + text.slice(1);
const thing = random => `the ${pick(random, adjectives)} ${pick(random, nouns)}`;
const sentences = [
  r => `${capital(pick(r, times))}, ${pick(r, people)} ${pick(r, acts)} ${thing(r)} ${pick(r, places)}.`,
  r => `${capital(pick(r, people))} ${pick(r, acts)} ${thing(r)}, ${pick(r, reasons)}.`,
  r => `${capital(pick(r, places))} there was ${pick(r, people)} who ${pick(r, acts)} ${thing(r)} ${pick(r, times)}.`,
  r => `${capital(thing(r))} had stood ${pick(r, places)} until ${pick(r, people)} ${pick(r, acts)} it.`,
  r => `Nobody knew why ${pick(r, people)} ${pick(r, acts)} ${thing(r)} and not ${thing(r)}.`,
  r => pick(r, thoughts),
];

export function* prose(random) {
  for (;;) {
    for (let left = 4 + Math.floor(random() * 5); left > 0; left--) {
      yield pick(random, sentences)(random) + (left === 1 ? '\n\n' : ' ');
    }
  }
}

export const keyLine = (name, number) => `The number of the ${name} is ${number}.\n`;

/** Lines that are all alike but for name and number; those of `taken` are left out. */
export function* keyLines(random, taken) {
  const used = new Set(taken);
  for (;;) {
    const [adjective, other] = draw(random, adjectives, 2);
    const name = `${adjective} ${other} ${pick(random, nouns)}`;
    if (used.has(name)) continue;
    used.add(name);
    yield keyLine(name, numbers(random, 1)[0]);
  }
}

/** Names such as "calm silver pond", none twice; a million tokens of key lines have not used them up. */
export function longNames(random, count) {
  const found = new Set();
  while (found.size < count) found.add(`${draw(random, adjectives, 2).join(' ')} ${pick(random, nouns)}`);
  return [...found];
}

/** Words of a list; each of `common` takes that share of the places. */
export function* words(random, common) {
  const rest = nouns.filter(noun => !common.some(({ word }) => word === noun));
  for (;;) {
    let at = random();
    const found = common.find(({ share }) => (at -= share) < 0);
    yield ` ${found ? found.word : pick(random, rest)}`;
  }
}

export const wordsOf = (random, count) => draw(random, nouns, count);

/** Top-level blocks of the installed eslint (as `package-lock.json` pins it), its files in random order. */
export function* code(random) {
  const folder = join(root, 'node_modules/eslint/lib');
  const files = readdirSync(folder, { recursive: true })
    .filter(name => name.endsWith('.js'))
    .sort();
  for (;;) {
    for (const name of draw(random, files)) {
      const text = readFileSync(join(folder, name), 'utf8').replace(/(?<!\d)\d{5}(?!\d)/g, '0');
      const blocks = text.split(/(?<=\n\n)(?=[^\s}\])*])/);
      yield* blocks.filter(block => block.length < LONGEST_BLOCK);
    }
  }
}
