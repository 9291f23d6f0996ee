// `node bench/state/gists-for-fit.mjs MODEL OUT TOKENS FOLDER...` (after `npx tsc -b`): reads so many tokens of sources in each folder,
// each file apart, as the product does, and writes what `fit-weights.py` takes: in OUT `sinks.bin` (read keys, then values,
// float32 [G,4,d]) and for each folder `meta.json` (ids of each file, where its gist lies) and `gists.bin` (for each file
// read keys and values [G,S,d] and counts [G,S], float32). What was written before is left as it is.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';
import { isSource, pathsIn } from '../recall/texts.mjs';

const built = path => import(join(root, 'out/src/engine', path));
const { engineOf } = await built('local-engine.js');
const { Model } = await built('model.js');
const { unpackSlots } = await built('packing.js');
const { prefixStart, readSinks } = await built('reader.js');
const { loadTokenizer } = await built('token-counter.js');

/** Bytes of a file that is taken. */
const [LEAST, MOST] = [600, 22_000];
/** The walk begins after this share of the paths and comes round: neighbouring files, as in a folder that is open. */
const FROM = 0.2;

const [modelFolder, out, tokens, ...folders] = process.argv.slice(2);
const model = await Model.load(modelFolder, { threads: 2 });
const engine = await engineOf(model);
const tokenizer = await loadTokenizer(modelFolder, model.manifest.name);
const bytesOf = ({ keys, values }) => [keys, values].map(array => new Uint8Array(array.buffer, 0, array.byteLength));
mkdirSync(out, { recursive: true });
const sinks = await model.folder.read(await readSinks(model, tokenizer));
writeFileSync(join(out, 'sinks.bin'), Buffer.concat(bytesOf(sinks)));
for (const folder of folders) {
  const own = join(out, basename(folder));
  if (!existsSync(join(own, 'meta.json'))) await read(folder, own);
}
await engine.dispose();

async function read(folder, own) {
  mkdirSync(own, { recursive: true });
  const all = pathsIn(folder, isSource).filter(path => {
    const { size } = statSync(join(folder, path));
    return size > LEAST && size < MOST;
  });
  const from = Math.floor(all.length * FROM);
  const [files, parts] = [[], []];
  let [total, at] = [0, 0];
  const [, after = ''] = model.manifest.kvm.prefix.split('{label}');
  for (const path of [...all.slice(from), ...all.slice(0, from)]) {
    const text = readFileSync(join(folder, path), 'utf8').replaceAll('\r\n', '\n');
    const prefix = [...prefixStart(model, tokenizer), ...tokenizer.encode(path + after).ids];
    const ids = [...prefix, ...tokenizer.encode(text).ids];
    if (total + ids.length > 1.1 * tokens) continue;
    const { gist } = await engine.read({ label: path, text, tokensPerRecallSlot: 4 });
    const slots = unpackSlots(gist);
    const { keys, values } = await model.folder.read(slots);
    parts.push(...bytesOf({ keys, values }), new Uint8Array(slots.count.buffer.slice(0)));
    files.push({ path, prefix: prefix.length, ids, slots: gist.slots, at });
    at += gist.groups * gist.slots * (2 * gist.headSize + 1);
    total += ids.length;
    if (total >= tokens) break;
  }
  writeFileSync(join(own, 'gists.bin'), Buffer.concat(parts));
  writeFileSync(join(own, 'meta.json'), JSON.stringify({ files }));
  console.log(`${basename(folder)}: ${files.length} files, ${total} tokens`);
}
