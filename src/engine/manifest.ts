/** Reads `model.json` of a model folder and checks its fields before anything is made of them. Never opens graphs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LongviewError, quoted } from '../base/index.js';
import { MANIFEST_FILE, MANIFEST_FORMAT } from './graph-contract.js';
import type { Manifest } from './graph-contract.js';

const count = (most: number) => z.number().int().positive().max(most);
const text = z.string().max(10_000);
const schedule = z.looseObject({ kind: z.enum(['fixed', 'powerLaw', 'saturating']) });
const perHead = z.array(z.array(z.number()));
const manifestShape = z.looseObject({
  // eslint-disable-next-line no-control-regex -- a name is shown
  name: z.string().regex(/^[^\u0000-\u001f\u007f-\u009f\u2028\u2029]{1,200}$/),
  fingerprint: z.string().min(1),
  quantisation: z.enum(['f32', 'f16', 'q8', 'q4']),
  architecture: z.looseObject({
    layers: count(1024),
    kvmLayers: count(1024),
    width: count(65_536),
    heads: count(1024),
    keyHeads: count(1024),
    headSize: count(1024),
    vocabulary: count(4_194_304),
    frequencies: z.array(z.number()),
    carried: z.array(z.looseObject({ name: z.string(), shape: z.array(z.number().int().min(0).max(1e7)) })).optional(),
    slidingWindow: z.looseObject({ tokens: count(1 << 28), frequencies: z.array(z.number()) }).optional(),
  }),
  kvm: z.looseObject({
    chunk: count(8192),
    windowChunks: count(1024),
    readingWindowChunks: count(1024),
    sinks: z.number().int().min(0).max(8192),
    readDistance: z.number(),
    stateBias: z.array(z.looseObject({ tokensPerSlot: z.number().positive(), bias: z.number() })),
    stateTokens: z.number().positive().optional(),
    growing: z
      .looseObject({
        shareOfLayer: z.array(z.number().min(0)),
        biasOfHead: perHead,
        temperatureOfKeyHead: perHead,
        valueScaleOfKeyHead: perHead,
        readDistanceOfKeyHead: perHead,
      })
      .optional(),
    prefix: text,
    trained: z.looseObject({ schedule, gatesInitialState: z.boolean() }).optional(),
  }),
  verification: z.looseObject({
    prompt: z.array(z.number().int().min(0)).max(4096),
    tolerance: z.number(),
    stride: count(4_194_304),
  }),
  recall: z
    .looseObject({
      heads: z.array(z.tuple([z.number().int().min(0), z.number().int().min(0)])).max(4096),
      queryPosition: count(1 << 28),
      before: text,
      after: text,
      contentless: text,
    })
    .nullish(),
  lowerLayers: count(1024).optional(),
  endTokens: z.array(z.number().int()),
  files: z.array(
    z.looseObject({
      name: z.string().regex(/^[A-Za-z0-9][\w.-]{0,127}$/),
      bytes: z.number().int().min(0),
      sha256: z.string(),
    }),
  ),
});

/** Throws `not-found` where there is no readable manifest, `bad-format` for another format or missing fields. */
export async function readManifest(path: string): Promise<Manifest> {
  const again = 'Remove it with `longview model remove` and add it again.';
  let found: unknown;
  try {
    found = JSON.parse(await readFile(join(path, MANIFEST_FILE), 'utf8'));
  } catch (cause) {
    throw new LongviewError('not-found', `There is no usable model in ${path}; add one with \`longview model add\`.`, {
      cause,
    });
  }
  const format = (found as { format?: unknown } | null)?.format;
  if (format !== MANIFEST_FORMAT) {
    const has = `has format ${quoted(format)}, this version reads ${MANIFEST_FORMAT}`;
    throw new LongviewError('bad-format', `The model in ${path} ${has}. ${again}`);
  }
  const checked = manifestShape.safeParse(found);
  if (!checked.success) {
    const place = checked.error.issues[0]?.path.join('.') ?? '';
    throw new LongviewError('bad-format', `The model in ${path} is damaged (${MANIFEST_FILE}: ${place}). ${again}`);
  }
  const { heads, keyHeads, headSize, frequencies } = checked.data.architecture;
  // A trained model may rotate a part of a head only.
  const rotates = checked.data.kvm.trained ? 2 * frequencies.length <= headSize : 2 * frequencies.length === headSize;
  if (heads % keyHeads !== 0 || !rotates) {
    throw new LongviewError('bad-format', `The model in ${path} is damaged (${MANIFEST_FILE}: architecture). ${again}`);
  }
  return found as Manifest;
}
