// `npm run l10n`: keeps the texts that can be translated in their files, `npm run l10n -- --check` says whether they are.
// package.json: titles and descriptions become %keys% with their English text in package.nls.json.
// src/extension: every text of vscode.l10n.t('…'), or of a t('…') that stands for it, stands in l10n/bundle.l10n.json.
// Translations (package.nls.LANG.json, l10n/bundle.l10n.LANG.json) must not name what is not there, and must keep {0}.
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { SetUpError, main, note, root } from './set-up.mjs';

const TRANSLATED = new Set([
  'title',
  'description',
  'markdownDescription',
  'displayName',
  'userDescription',
  'label',
  'name',
  'fullName',
  'contents',
  'category',
]);

await main(async () => {
  const check = process.argv.includes('--check');
  const before = new Map();
  const files = new Map();
  const put = (file, content) => {
    const path = join(root, file);
    before.set(file, existsSync(path) ? readFileSync(path, 'utf8') : '');
    files.set(file, `${JSON.stringify(content, null, 2)}\n`);
  };
  const { manifest, texts } = withKeys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')));
  const known = existsSync(join(root, 'package.nls.json'))
    ? JSON.parse(readFileSync(join(root, 'package.nls.json'), 'utf8'))
    : {};
  const used = new Set(
    JSON.stringify(manifest)
      .match(/%[\w.:-]+%/g)
      ?.map(key => key.slice(1, -1)) ?? [],
  );
  const english = Object.fromEntries(
    [...used].sort().map(key => {
      const text = texts.get(key) ?? known[key];
      if (text === undefined) throw new SetUpError(`package.json uses %${key}%, which has no text.`);
      return [key, text];
    }),
  );
  put('package.json', manifest);
  put('package.nls.json', english);
  const bundle = Object.fromEntries([...extensionTexts()].sort().map(text => [text, text]));
  put('l10n/bundle.l10n.json', bundle);
  checkTranslations('.', /^package\.nls\.[\w-]+\.json$/, english);
  if (existsSync(join(root, 'l10n'))) checkTranslations('l10n', /^bundle\.l10n\.[\w-]+\.json$/, bundle);
  const changed = [...files].filter(([file, content]) => before.get(file) !== content).map(([file]) => file);
  if (check && changed.length > 0) throw new SetUpError(`Run \`npm run l10n\`: ${changed.join(', ')} would change.`);
  mkdirSync(join(root, 'l10n'), { recursive: true });
  for (const file of changed) writeFileSync(join(root, file), files.get(file));
  note(`${Object.keys(english).length} texts of the manifest, ${Object.keys(bundle).length} of the extension`);
});

/** Names by which chat and agents call something, and what only models read: the same in every language. */
function isForModels([point, ...path]) {
  if (point !== 'chatParticipants' && point !== 'languageModelTools') return false;
  return path.at(-1) === 'name' || path.includes('inputSchema');
}

/** The manifest's own texts replaced by keys; a text that is a key already stays. */
function withKeys(given) {
  const texts = new Map();
  const visit = (value, path) => {
    if (Array.isArray(value)) return value.map((item, at) => visit(item, [...path, idOf(item) ?? String(at)]));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => {
        const here = [...path, key];
        if (key === 'enumDescriptions') return [key, inner.map((text, at) => keyFor(text, [...here, String(at)]))];
        if (TRANSLATED.has(key) && typeof inner === 'string' && !isForModels(here)) return [key, keyFor(inner, here)];
        return [key, visit(inner, here)];
      }),
    );
  };
  const keyFor = (text, path) => {
    if (/^%[^%]+%$/.test(text) || text === 'Longview' || text === '') return text;
    const key = path.join('.').replace(/[^\w.-]+/g, '-');
    texts.set(key, text);
    return `%${key}%`;
  };
  const { contributes, capabilities, ...rest } = given;
  const manifest = Object.fromEntries(
    Object.entries(given).map(([key, value]) => {
      if (key === 'contributes') return [key, visit(contributes, [])];
      if (key === 'capabilities') return [key, visit(capabilities, [key])];
      if (key === 'description') return [key, rest.description];
      return [key, value];
    }),
  );
  return { manifest, texts };
}

function idOf(item) {
  if (typeof item !== 'object' || item === null) return undefined;
  return item.command ?? item.id ?? item.view ?? item.name ?? undefined;
}

function extensionTexts() {
  const texts = new Set();
  const folder = join(root, 'src', 'extension');
  for (const file of readdirSync(folder).filter(name => name.endsWith('.ts'))) {
    const source = ts.createSourceFile(file, readFileSync(join(folder, file), 'utf8'), ts.ScriptTarget.Latest, true);
    const visit = node => {
      // Files that do not know the editor are given `t` or `translate`.
      if (ts.isCallExpression(node) && /(^|\.)(t|translate)$/.test(node.expression.getText())) {
        const [text] = node.arguments;
        if (!text || !ts.isStringLiteralLike(text))
          throw new SetUpError(`${file}: l10n.t takes a text as it stands, not an expression.`);
        texts.add(text.text);
      }
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return texts;
}

function checkTranslations(folder, pattern, english) {
  for (const file of readdirSync(join(root, folder)).filter(name => pattern.test(name))) {
    const translated = JSON.parse(readFileSync(join(root, folder, file), 'utf8'));
    for (const [key, text] of Object.entries(translated)) {
      if (english[key] === undefined)
        throw new SetUpError(`${file}: there is no text ${JSON.stringify(key)} any more.`);
      const holes = string =>
        [...string.matchAll(/\{\d\}/g)]
          .map(([hole]) => hole)
          .sort()
          .join();
      if (holes(text) !== holes(english[key])) throw new SetUpError(`${file}: ${JSON.stringify(key)} loses a {…}.`);
    }
  }
}
