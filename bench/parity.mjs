// `npm run bench -- parity [--json]`: the engine in float32 against the golden data of the authors' and Hugging Face's code,
// case by case. Exits with 0 only if all hold.
import { join } from 'node:path';
import { root } from '../scripts/set-up.mjs';

export async function parity(json) {
  const test = name => import(join(root, 'out', 'test', 'engine', `${name}.js`));
  const { goldenPath } = await import(join(root, 'out', 'test', 'oracle', 'golden.js'));
  const { LOGITS, STATES, extraCases, huggingFaceCases, mainCases, measureBackbone, measureHuggingFace } =
    await test('parity');
  const { BackboneFolder } = await test('backbone-folder');
  const { TinyFolder } = await test('tiny-engine');
  const backbones = new BackboneFolder();
  const decoders = new TinyFolder();
  const rows = [];
  try {
    for (const name of [...mainCases, ...extraCases])
      rows.push(await measureBackbone(name, await backbones.model(name)));
    for (const name of huggingFaceCases) {
      rows.push(
        await measureHuggingFace(name, await decoders.convert(goldenPath(name), name.replace('/', '-'), 'f32')),
      );
    }
  } finally {
    await backbones.dispose();
    await decoders.dispose();
  }
  const holds = row =>
    row.logits <= LOGITS && (row.state ?? 0) <= STATES && row.greedy && row.compared === row.expected;
  if (json) process.stdout.write(`${JSON.stringify({ rows, tolerance: { logits: LOGITS, state: STATES } })}\n`);
  else {
    process.stdout.write(`| case | logits (${LOGITS}) | states (${STATES}) | tensors | greedy tokens |\n`);
    process.stdout.write('| --- | --- | --- | --- | --- |\n');
    for (const row of rows) {
      const state = row.state === undefined ? '' : row.state.toExponential(1);
      const greedy = row.greedy ? 'equal' : 'DIFFER';
      process.stdout.write(
        `| ${row.case} | ${row.logits.toExponential(1)} | ${state} | ${row.compared} | ${greedy}${holds(row) ? '' : ' FAILS'} |\n`,
      );
    }
  }
  if (!rows.every(holds)) process.exitCode = 1;
}
