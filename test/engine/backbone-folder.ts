/**
 * The authors' golden models as checkpoint folders, converted and loaded. Never keeps a folder after the suite.
 * Cases of `extra` come without weights: theirs are those of `fixed`, with the tensors left out that a switch removes.
 */
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Quantisation } from '../../src/engine/graph-contract.js';
import { runGraphs } from '../../src/engine/index.js';
import { Model } from '../../src/engine/model.js';
import { convertModel } from '../../src/convert/index.js';
import type { ModelEntry } from '../../src/convert/index.js';
import { goldenPath } from '../oracle/golden.js';
import { readSafetensors, writeSafetensors } from '../reference/safetensors.js';

/** Tensors of `fixed` that a case's model does not have. */
const REMOVED: Readonly<Record<string, RegExp>> = {
  'extra/no_merge_gate': /key_weighting/,
  'extra/no_head_temps': /head_temp$/,
};

export class BackboneFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'longview-backbone-'));
  private readonly models: Model[] = [];

  /** A golden case as its authors would publish it; gives the folder, to which more files may be added. */
  checkpoint(name: string): string {
    const folder = join(this.path, name.replace('/', '-'));
    mkdirSync(folder, { recursive: true });
    copyFileSync(goldenPath(`${name}/config.json`), join(folder, 'config.json'));
    const weights = join(folder, 'model.safetensors');
    const removed = REMOVED[name];
    if (!name.startsWith('extra/')) copyFileSync(goldenPath(`${name}/weights.safetensors`), weights);
    else {
      const all = readSafetensors(goldenPath('fixed/weights.safetensors'));
      writeSafetensors(weights, new Map([...all].filter(([tensor]) => !removed?.test(tensor))));
    }
    return folder;
  }

  async model(name: string, quantisation: Quantisation = 'f32', entry: Partial<ModelEntry> = {}): Promise<Model> {
    return this.convert(this.checkpoint(name), quantisation, entry);
  }

  async convert(source: string, quantisation: Quantisation, entry: Partial<ModelEntry> = {}): Promise<Model> {
    const folder = `${source}-${quantisation}`;
    await convertModel(source, folder, {
      quantisation,
      entry: { name: 'backbone', origin: 'test', licence: 'Apache-2.0', ...entry },
      run: runGraphs,
    });
    const model = await Model.load(folder, { threads: 1 });
    this.models.push(model);
    return model;
  }

  async dispose(): Promise<void> {
    for (const model of this.models) await model.dispose();
    rmSync(this.path, { recursive: true, force: true });
  }
}
