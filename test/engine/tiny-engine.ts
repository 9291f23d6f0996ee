/** Converts the tiny models of test/reference into model folders and loads them. Never keeps a folder after the suite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Quantisation } from '../../src/engine/graph-contract.js';
import { Model } from '../../src/engine/model.js';
import { runGraphs } from '../../src/engine/index.js';
import { convertModel } from '../../src/convert/index.js';
import type { ModelEntry } from '../../src/convert/index.js';
import { tinyModel, tinyReading, tinyVariants, writeTinyModel } from '../reference/tiny-model.js';

export type Variant = keyof typeof tinyVariants;

export class TinyFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'longview-tiny-'));
  private readonly models: Model[] = [];

  /** A tiny model, converted and loaded; read as `tinyReading` says. */
  async model(variant: Variant, quantisation: Quantisation = 'f32', entry: Partial<ModelEntry> = {}): Promise<Model> {
    const source = join(this.path, `${variant}-checkpoint`);
    writeTinyModel(tinyModel(tinyVariants[variant].model), source);
    return this.convert(source, variant, quantisation, { kvm: tinyReading, ...entry });
  }

  async convert(
    source: string,
    name: string,
    quantisation: Quantisation,
    entry: Partial<ModelEntry> = {},
  ): Promise<Model> {
    const folder = join(this.path, `${name}-${quantisation}`);
    await convertModel(source, folder, {
      quantisation,
      entry: { name, origin: 'test', licence: 'none', ...entry },
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
