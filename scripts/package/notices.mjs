// THIRD-PARTY-NOTICES.txt: name, version, licence and licence text of every package whose code is in a VSIX.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SetUpError, root } from '../set-up.mjs';

/** `inputs`: paths of bundled files (esbuild's metafile), `folders`: packages that are carried whole, under `modules`. */
export function noticesOf(inputs, modules, folders) {
  const packages = new Map();
  for (const input of inputs) {
    // The innermost: a package may carry another version of its own.
    const match = /^(.*\bnode_modules\/)((?:@[^/]+\/)?[^/]+)\//.exec(input);
    if (match) packages.set(match[2], join(root, match[1], match[2]));
  }
  for (const name of folders) packages.set(name, join(modules, name));
  const parts = [...packages].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, folder]) => noticeOf(name, folder));
  return ['Longview contains the following packages. Each keeps its own licence.', ...parts, ''].join(
    `\n\n${'-'.repeat(78)}\n\n`,
  );
}

function noticeOf(name, folder) {
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (typeof license !== 'string') throw new SetUpError(`${name} names no licence.`);
  const source = existsSync(join(root, 'node_modules', name)) ? join(root, 'node_modules', name) : folder;
  const file = readdirSync(source).find(entry => /^(licen[cs]e|copying|notice)/i.test(entry));
  const text = file ? readFileSync(join(source, file), 'utf8').trim() : '(The package carries no licence text.)';
  return `${name} ${version}\nLicence: ${license}\n\n${text}`;
}

/** Packages of a node_modules folder, scoped ones included. */
export function packagesIn(modules) {
  return readdirSync(modules).flatMap(name =>
    name.startsWith('@') ? readdirSync(join(modules, name)).map(inner => `${name}/${inner}`) : [name],
  );
}
