/**
 * Changes of a JSON value and of its text: wrong types, sizes and names, keys that occur twice, nesting without end,
 * numbers that JSON can write and a double can't hold, bytes that are no UTF-8. Every change says what it did.
 */
import { mutateBytes } from './byte-mutations.js';
import type { Mutated } from './byte-mutations.js';
import type { Random } from './random.js';

type Json = unknown;
type Branch = Record<string, Json> | Json[];

/** Stands for raw text that `JSON.stringify` would not write. */
const RAW = [
  '['.repeat(20_000) + ']'.repeat(20_000),
  '{"type":"Sequence","pretokenizers":['.repeat(3_000) + ']}'.repeat(3_000),
  '1e999',
  '-1e999',
  '1e-400',
  '-0',
  'NaN',
  '123456789012345678901234567890',
  '0x10',
  '',
] as const;

const VALUES: readonly Json[] = [
  null,
  true,
  false,
  0,
  -1,
  1,
  0.5,
  31,
  1e308,
  2 ** 31,
  2 ** 32,
  2 ** 53,
  -(2 ** 53),
  '',
  'x',
  'line\nbreak\u2028\u0007',
  'x'.repeat(5_000),
  '\n'.repeat(300),
  '../../etc/passwd',
  '/etc/passwd',
  'config.json',
  '\ud800',
  '__proto__',
  [],
  {},
  [[]],
  [null],
  [1, 'x', null],
  { type: 'x' },
  { length: 1e9 },
  Array.from({ length: 2_000 }, (_, i) => i),
];

const KEYS = ['__proto__', 'constructor', 'toString', '', 'x', 'a\nb', 'k'.repeat(2_000)];

/** The value's text with one to three changes. */
export function mutateJson(value: Json, random: Random): Mutated {
  const root = { root: structuredClone(value) };
  const raw: string[] = [];
  const did: string[] = [];
  const rounds = random.pick([1, 1, 2, 3]);
  for (let i = 0; i < rounds; i++) did.push(changeOnce(root, random, raw));
  let text = (JSON.stringify(root.root) as string | undefined) ?? '';
  text = text.replace(/"@raw(\d+)@"/g, (_, i: string) => raw[Number(i)]!);
  if (random.chance(0.1) && text.startsWith('{')) {
    // The first key once more, with the value of another kind: the last one counts.
    const key = /^\{("(?:[^"\\]|\\.)*"):/.exec(text)?.[1];
    if (key !== undefined) {
      text = `${text.slice(0, -1)},${key}:${JSON.stringify(random.pick(VALUES))}}`;
      did.push('first key twice');
    }
  }
  const bytes = Buffer.from(text);
  if (!random.chance(0.15) || bytes.length === 0) return { bytes, did: did.join('; ') };
  const change = mutateBytes(bytes, random, [], bytes.length);
  return { bytes: change.bytes, did: [...did, change.did].join('; ') };
}

function changeOnce(root: { root: Json }, random: Random, raw: string[]): string {
  const [branch, key, path] = place(root, random);
  const nodes = branch as Record<string, Json>;
  const name = path.join('.').slice(0, 80);
  switch (random.below(9)) {
    case 0:
      if (Array.isArray(branch)) branch.splice(Number(key), 1);
      else Reflect.deleteProperty(nodes, key);
      return `without ${name}`;
    case 1: {
      const to = random.pick(KEYS);
      if (Array.isArray(branch)) branch.push(structuredClone(nodes[key]));
      else
        Object.defineProperty(nodes, to, { value: nodes[key], enumerable: true, configurable: true, writable: true });
      return `${name} also as ${to.slice(0, 12)}`;
    }
    case 2: {
      const [, , otherPath, other] = place(root, random);
      nodes[key] = structuredClone(other);
      return `${name} = ${otherPath.join('.').slice(0, 80)}`;
    }
    case 3:
      nodes[key] = `@raw${raw.push(random.pick(RAW)) - 1}@`;
      return `${name} = raw ${raw.at(-1)!.slice(0, 12)}`;
    case 4:
      nodes[key] = [nodes[key]];
      return `[${name}]`;
    case 5: {
      const number = nodes[key];
      if (typeof number !== 'number') break;
      nodes[key] = random.pick([number + 1, number - 1, -number, number * 2, number / 2, number * 1e6, String(number)]);
      return `${name} = ${String(nodes[key])}`;
    }
  }
  nodes[key] = structuredClone(random.pick(VALUES));
  return `${name} = ${(JSON.stringify(nodes[key]) as string | undefined)?.slice(0, 40)}`;
}

/** A random place: going down from the root, so that no part drowns in a large one. */
function place(root: { root: Json }, random: Random): [Branch, string, string[], Json] {
  let branch: Branch = root;
  let key = 'root';
  const path: string[] = [];
  for (;;) {
    const value = (branch as Record<string, Json>)[key];
    if (typeof value !== 'object' || value === null || (path.length > 0 && random.chance(0.15))) {
      return [branch, key, path, value];
    }
    const keys = Object.keys(value);
    if (keys.length === 0) return [branch, key, path, value];
    branch = value as Branch;
    key = random.pick(keys);
    path.push(key.slice(0, 40));
  }
}
