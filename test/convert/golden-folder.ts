/** Golden cases of the authors' models as checkpoint folders. Never changes the golden files. */
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const golden = (name: string): string =>
  fileURLToPath(new URL(`../../../test/fixtures/golden/${name}`, import.meta.url));

export const mainCases = ['fixed', 'power_law', 'saturating', 'hybrid_swa', 'hybrid_rwkv7'];
/** They reuse the weights of `fixed`: what they switch off is left over there. */
export const extraCases = ['no_append_gate', 'no_merge_gate', 'no_head_temps', 'no_sink_cap64', 'fixed16'].map(
  name => `extra/${name}`,
);

/** A new folder under `root`: the config of a case, changed (undefined: without the key), and weights. */
export async function goldenFolder(root: string, name: string, change: object = {}, weights?: string): Promise<string> {
  const path = await mkdtemp(join(root, 'case-'));
  const config = JSON.parse(await readFile(join(golden(name), 'config.json'), 'utf8')) as object;
  await writeFile(join(path, 'config.json'), JSON.stringify({ ...config, ...change }));
  const from = weights ?? (name.startsWith('extra/') ? 'fixed' : name);
  await cp(join(golden(from), 'weights.safetensors'), join(path, 'model.safetensors'));
  return path;
}
