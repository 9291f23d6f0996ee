/**
 * The authors' golden models as checkpoint folders, converted and loaded. Never keeps a folder after the suite.
 * Cases of `extra` come without weights: theirs are those of `fixed`, with the tensors left out that a switch removes.
 */
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Quantisation } from '../../src/engine/graph-contract.js';
import { runGraphs } from '../../src/engine/index.js';
import { Model } from '../../src/engine/model.js';
import { BYTE_TO_CHARACTER } from '../../src/engine/tokenizer-bytes.js';
import { convertModel } from '../../src/convert/index.js';
import type { ModelEntry } from '../../src/convert/index.js';
import { goldenPath } from '../oracle/golden.js';
import type { BackboneConfig } from '../reference/backbone-config.js';
import { readSafetensors, writeSafetensors } from '../reference/safetensors.js';

export const START = 126;
export const END = 127;
/** The first token is the one sink. */
export const PREFIX = '<|start|>in {label}:\n';

const tokenizerJson = {
  pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
  added_tokens: [
    { id: START, content: '<|start|>', special: true },
    { id: END, content: '<|end|>', special: true },
  ],
  model: {
    type: 'BPE',
    vocab: Object.fromEntries(BYTE_TO_CHARACTER.slice(0, START).map((character, byte) => [character, byte])),
    merges: [],
  },
};

const tokenizerConfig = {
  eos_token: '<|end|>',
  chat_template: '{% for message in messages %}<|start|>{{ message.content }}<|end|>{% endfor %}',
};

/** Tensors of `fixed` that a case's model does not have. */
const REMOVED: Readonly<Record<string, RegExp>> = {
  'extra/no_merge_gate': /key_weighting/,
  'extra/no_head_temps': /head_temp$/,
};

export class BackboneFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'longview-backbone-'));
  private readonly models = new Map<string, Promise<Model>>();

  /** A golden case as its authors would publish it; gives the folder. */
  private checkpoint(name: string, suffix = ''): string {
    const folder = join(this.path, name.replace('/', '-') + suffix);
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

  /** A golden case, converted once. */
  model(name: string, quantisation: Quantisation = 'f32'): Promise<Model> {
    const key = `${name} ${quantisation}`;
    const model = this.models.get(key) ?? this.convert(this.checkpoint(name), quantisation);
    this.models.set(key, model);
    return model;
  }

  /** The weights of a golden case under other keys of its config, without the tensors that these leave no place for. */
  async variant(name: string, base: string, changes: Partial<BackboneConfig>, removed?: RegExp): Promise<Model> {
    const source = join(this.path, name);
    mkdirSync(source, { recursive: true });
    const config = { ...(JSON.parse(readFileSync(goldenPath(`${base}/config.json`), 'utf8')) as object), ...changes };
    writeFileSync(join(source, 'config.json'), JSON.stringify(config));
    const all = readSafetensors(goldenPath(`${base}/weights.safetensors`));
    writeSafetensors(join(source, 'model.safetensors'), new Map([...all].filter(([tensor]) => !removed?.test(tensor))));
    const model = await this.convert(source, 'f32');
    this.models.set(name, Promise.resolve(model));
    return model;
  }

  /**
   * A golden case that reads text, converted once: ids are the bytes of ASCII up to `}`, then two control tokens. The entry
   * asks for another chunk and another window, which a checkpoint trained with KVM does not take.
   */
  textModel(name: string): Promise<Model> {
    const key = `text of ${name}`;
    let model = this.models.get(key);
    if (!model) {
      const source = this.checkpoint(name, '-text');
      writeFileSync(join(source, 'tokenizer.json'), JSON.stringify(tokenizerJson));
      writeFileSync(join(source, 'tokenizer_config.json'), JSON.stringify(tokenizerConfig));
      const kvm = { prefix: PREFIX, chunk: 64, windowChunks: 5, sinks: 9, readingWindowChunks: 7 };
      model = this.convert(source, 'f32', { kvm });
      this.models.set(key, model);
    }
    return model;
  }

  /** Beside `source`, with the quantisation behind its name. */
  private async convert(source: string, quantisation: Quantisation, entry: Partial<ModelEntry> = {}): Promise<Model> {
    const folder = `${source}-${quantisation}`;
    await convertModel(source, folder, {
      quantisation,
      entry: { name: 'backbone', origin: 'test', licence: 'Apache-2.0', ...entry },
      run: runGraphs,
    });
    return Model.load(folder, { threads: 1 });
  }

  async dispose(): Promise<void> {
    for (const model of this.models.values()) await (await model).dispose();
    rmSync(this.path, { recursive: true, force: true });
  }
}
