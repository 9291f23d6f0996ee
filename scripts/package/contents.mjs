// What is in a VSIX, and whether it is what it must be: its own platform's binaries and no other's, no sources, no maps.
import { once } from 'node:events';
import yauzl from 'yauzl';
import { SetUpError } from '../set-up.mjs';

const always = [
  'extension/package.json',
  'extension/package.nls.json',
  'extension/README.md',
  'extension/CHANGELOG.md',
  'extension/LICENSE.txt',
  'extension/THIRD-PARTY-NOTICES.txt',
  'extension/media/icon.png',
  'extension/models/catalogue.json',
  'extension/dist/extension.cjs',
  'extension/dist/server.js',
  'extension/dist/engine-main.js',
  'extension/dist/check-main.js',
  'extension/dist/probe-main.js',
  'extension/dist/documents-main.js',
  'extension/dist/calibration/engine/reader.ts',
  'extension/dist/cmaps/UniGB-UCS2-H.bcmap',
  'extension/dist/cmaps/LICENSE',
  'extension/dist/node_modules/lmdb/index.js',
];
const never = [
  /\.map$/,
  /^(?!extension\/dist\/calibration\/).*\.tsx?$/,
  /(^|\/)(src|test|out)\/.*\.(ts|mjs)$/,
  /\.env/,
  /\.vsix$/,
  /\.abi\d+\./,
];
/** The package without a model, compressed. */
const mostBytes = 40e6;

/** Throws where something is missing or too much. Gives the files and their unpacked bytes. */
export async function checkContents(file, target, model) {
  const files = await list(file);
  // vsce writes some names in small letters.
  const names = new Set(files.map(({ name }) => name.toLowerCase()));
  const [platform, arch] = target.split('-');
  const wanted = [
    ...always,
    `extension/dist/node_modules/onnxruntime-node/bin/napi-v6/${platform}/${arch}/onnxruntime_binding.node`,
    `extension/dist/node_modules/@lmdb/lmdb-${target}/package.json`,
    ...(model ? [`extension/models/${model}`] : []),
  ];
  const missing = wanted.filter(name => !names.has(name.toLowerCase()));
  if (missing.length > 0) throw new SetUpError(`${file} lacks ${missing.join(', ')}`);
  const foreign = files
    .map(({ name }) => name)
    .filter(
      name =>
        (/\/napi-v6\//.test(name) && !name.includes(`/napi-v6/${platform}/${arch}/`)) ||
        (/\/@lmdb\//.test(name) && !name.includes(`/@lmdb/lmdb-${target}/`)),
    );
  const tooMuch = [...foreign, ...files.map(({ name }) => name).filter(name => never.some(rule => rule.test(name)))];
  if (tooMuch.length > 0) throw new SetUpError(`${file} must not hold ${tooMuch.slice(0, 5).join(', ')}`);
  const compressed = files.reduce((sum, { packed }) => sum + packed, 0);
  if (!model && compressed > mostBytes)
    throw new SetUpError(`${file} is over ${mostBytes / 1e6} MB (${compressed} bytes).`);
  return { files, bytes: files.reduce((sum, { size }) => sum + size, 0) };
}

async function list(file) {
  const zip = await new Promise((done, fail) =>
    yauzl.open(file, { lazyEntries: true }, (error, it) => (error ? fail(error) : done(it))),
  );
  const files = [];
  zip.on('entry', entry => {
    files.push({ name: entry.fileName, size: entry.uncompressedSize, packed: entry.compressedSize });
    zip.readEntry();
  });
  zip.readEntry();
  await once(zip, 'end');
  return files.sort((a, b) => (a.name < b.name ? -1 : 1));
}
