// The installed model without the values fitted for growing states, all layers alike: a folder of links beside a manifest of its own.
import { mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** `remove` takes the folder away again. */
export function alikeFolder(modelFolder) {
  const folder = mkdtempSync(join(tmpdir(), 'longview-alike-'));
  for (const name of readdirSync(modelFolder)) {
    if (name !== 'model.json') symlinkSync(join(modelFolder, name), join(folder, name));
  }
  const manifest = JSON.parse(readFileSync(join(modelFolder, 'model.json'), 'utf8'));
  delete manifest.kvm.growing;
  writeFileSync(join(folder, 'model.json'), JSON.stringify(manifest));
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
