/** Reads `model.json` of a model folder and checks its fields before anything is made of them. Never opens graphs. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LongviewError } from '../base/index.js';
import { MANIFEST_FILE, MANIFEST_FORMAT } from './graph-contract.js';
import type { Manifest } from './graph-contract.js';

const count = z.number().int().positive().max(1e7);
const schedule = z.looseObject({ kind: z.enum(['fixed', 'powerLaw', 'saturating']) });
const manifestShape = z.looseObject({
  name: z.string(),
  fingerprint: z.string().min(1),
  quantisation: z.enum(['f32', 'q8', 'q4']),
  architecture: z.looseObject({
    layers: count,
    kvmLayers: count,
    width: count,
    heads: count,
    keyHeads: count,
    headSize: count,
    vocabulary: count,
    frequencies: z.array(z.number()),
    carried: z.array(z.looseObject({ name: z.string(), shape: z.array(z.number().int().min(0).max(1e7)) })).optional(),
    slidingWindow: z.looseObject({ tokens: count, frequencies: z.array(z.number()) }).optional(),
  }),
  kvm: z.looseObject({
    chunk: count,
    windowChunks: count,
    readingWindowChunks: count,
    sinks: z.number().int().min(0),
    readDistance: z.number(),
    stateBias: z.array(z.looseObject({ tokensPerSlot: z.number().positive(), bias: z.number() })),
    prefix: z.string(),
    trained: z.looseObject({ schedule, gatesInitialState: z.boolean() }).optional(),
  }),
  verification: z.looseObject({
    prompt: z.array(z.number().int().min(0)).max(4096),
    tolerance: z.number(),
    stride: count.optional(),
  }),
  endTokens: z.array(z.number().int()),
  files: z.array(z.looseObject({ name: z.string(), bytes: z.number().int().min(0), sha256: z.string() })),
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
    const has = `has format ${JSON.stringify(format)}, this version reads ${MANIFEST_FORMAT}`;
    throw new LongviewError('bad-format', `The model in ${path} ${has}. ${again}`);
  }
  const checked = manifestShape.safeParse(found);
  if (!checked.success) {
    const place = checked.error.issues[0]?.path.join('.') ?? '';
    throw new LongviewError('bad-format', `The model in ${path} is damaged (${MANIFEST_FILE}: ${place}). ${again}`);
  }
  return found as Manifest;
}
