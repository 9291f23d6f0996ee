// `npm run package -- [TARGET…] [--with-model CHECKPOINT] [--out FOLDER]`: one VSIX a platform, each with its own native
// files only. Without a target: this machine's. `all`: every platform that has binaries.
// The contents are listed, and what must or must not be in them is checked before the file counts as made.
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { checkContents } from './package/contents.mjs';
import { copyNativePackages, targets } from './package/native-packages.mjs';
import { noticesOf, packagesIn } from './package/notices.mjs';
import { SetUpError, ensurePackages, main, node, note, root } from './set-up.mjs';

await main(async () => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { 'with-model': { type: 'string' }, out: { type: 'string', default: '.' }, list: { type: 'boolean' } },
  });
  const wanted = positionals.includes('all') ? targets : positionals.length > 0 ? positionals : [here()];
  for (const target of wanted) {
    if (!targets.includes(target))
      throw new SetUpError(`There are no binaries for ${target}; there are for ${targets.join(', ')}.`, 2);
  }
  await ensurePackages();
  const bundled = await node([join('scripts', 'bundle.mjs')], { capture: true });
  if (bundled.code !== 0) throw new SetUpError(bundled.output);
  const { createVSIX } = await import('@vscode/vsce');
  mkdirSync(resolve(values.out), { recursive: true });
  for (const target of wanted) {
    const model = values['with-model'];
    const stage = mkdtempSync(join(tmpdir(), 'longview-package-'));
    try {
      await fill(stage, target, model);
      const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
      const file = join(resolve(values.out), `longview-${model ? 'with-model-' : ''}${target}-${version}.vsix`);
      await createVSIX({
        cwd: stage,
        packagePath: file,
        target,
        dependencies: false,
        preRelease: isPreRelease(version),
        rewriteRelativeLinks: false,
        allowMissingRepository: true,
      });
      const { files, bytes } = await checkContents(file, target, model && basename(model));
      note(`${basename(file)}: ${mega(statSync(file).size)} MB, ${files.length} files, ${mega(bytes)} MB unpacked`);
      if (values.list) for (const { name, size } of files) note(`  ${String(size).padStart(9)}  ${name}`);
    } finally {
      rmSync(stage, { recursive: true, force: true });
    }
  }
});

/** The folder that becomes the VSIX. */
async function fill(stage, target, model) {
  for (const part of ['README.md', 'CHANGELOG.md', 'LICENSE', 'media', 'models', 'l10n']) {
    cpSync(join(root, part), join(stage, part), { recursive: true, filter: path => !path.endsWith('.map') });
  }
  cpSync(join(root, 'dist'), join(stage, 'dist'), {
    recursive: true,
    filter: path => !/\.map$|meta\.json$/.test(path),
  });
  for (const file of ['package.nls.json']) cpSync(join(root, file), join(stage, file));
  if (model) cpSync(resolve(model), join(stage, 'models', basename(model)));
  const modules = join(stage, 'dist', 'node_modules');
  await copyNativePackages(target, modules);
  const meta = JSON.parse(readFileSync(join(root, 'dist', 'meta.json'), 'utf8'));
  writeFileSync(join(stage, 'THIRD-PARTY-NOTICES.txt'), noticesOf(meta.inputs, modules, packagesIn(modules)));
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  for (const key of ['scripts', 'devDependencies', 'dependencies', 'private', 'bin', 'type']) delete manifest[key];
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  writeFileSync(join(stage, '.vscodeignore'), '.vscodeignore\n');
  // The bundles are ES modules but for the extension's own (.cjs).
  writeFileSync(join(stage, 'dist', 'package.json'), '{ "type": "module" }\n');
}

function here() {
  return `${process.platform}-${process.arch}`;
}

/** Even minor versions are stable, odd ones pre-releases. */
function isPreRelease(version) {
  return Number(version.split('.')[1]) % 2 === 1;
}

function mega(bytes) {
  return (bytes / 1e6).toFixed(1);
}
