// `npm run bundle`: what the VSIX carries in dist/: the extension (CommonJS, as editors load it), the server, the command
// line and the processes that they start, by their names beside them (ES modules), the panel's pages, and what pdf.js looks up
// to read fonts of Chinese, Japanese and Korean.
// Native packages stay outside and come along in node_modules.
import { build } from 'esbuild';
import { cpSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './set-up.mjs';
import { buildWebviews, webviewFiles } from './webview-bundle.mjs';

const dist = join(root, 'dist');
rmSync(dist, { recursive: true, force: true });

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: 'node',
  target: 'node20',
  minify: true,
  sourcemap: true,
  sourcesContent: false,
  legalComments: 'linked',
  logLevel: 'warning',
  metafile: true,
};
/** What each build took in: for the notices of the package. */
const builds = [];

builds.push(
  await build({
    ...common,
    entryPoints: { extension: 'src/extension/extension.ts' },
    outdir: dist,
    outExtension: { '.js': '.cjs' },
    format: 'cjs',
    external: ['vscode'],
  }),
);
builds.push(
  await build({
    ...common,
    entryPoints: {
      server: 'src/server/main.ts',
      cli: 'src/cli/main.ts',
      'engine-main': 'src/engine/process/engine-main.ts',
      'check-main': 'src/engine/process/check-main.ts',
      'probe-main': 'src/engine/process/probe-main.ts',
      'documents-main': 'src/memory/documents/documents-main.ts',
    },
    outdir: dist,
    format: 'esm',
    // The chunks lie beside the entries: the engine's file is found by its name beside the code that starts it.
    splitting: true,
    chunkNames: 'chunk-[hash]',
    external: ['onnxruntime-node', 'lmdb'],
    // CommonJS packages inside an ES module ask for these.
    banner: {
      js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
    },
  }),
);

cpSync(join(root, 'node_modules', 'pdfjs-dist', 'cmaps'), join(dist, 'cmaps'), { recursive: true });

// What `longview calibrate` reads where no folder is named: rooms with doc comments, as they are.
for (const room of ['assist', 'calibrate', 'convert', 'engine', 'memory', 'models'])
  cpSync(join(root, 'src', room), join(dist, 'calibration', room), {
    recursive: true,
    filter: path => !path.endsWith('.json'),
  });

await buildWebviews(join(dist, 'webview'));

for (const file of [
  'extension.cjs',
  'server.js',
  'cli.js',
  'engine-main.js',
  'check-main.js',
  'probe-main.js',
  'documents-main.js',
  ...webviewFiles.map(name => join('webview', name)),
]) {
  process.stderr.write(`dist/${file} ${Math.round(statSync(join(dist, file)).size / 1000)} KB\n`);
}
const inputs = [...new Set(builds.flatMap(({ metafile }) => Object.keys(metafile.inputs)))].sort();
writeFileSync(join(dist, 'meta.json'), JSON.stringify({ inputs }));
