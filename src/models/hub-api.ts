/**
 * What the hub says of a repository: its commit, files with sizes and digests, licence, whether it is gated. One request
 * of `GET /api/models/ORG/NAME/revision/REVISION?blobs=true`, the call of the hub's own clients. Downloads no file, and
 * trusts no name: which files are taken is decided in hub-files.ts.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { LongviewError, throwIfCancelled } from '../base/index.js';
import { busyWait, LONGEST_WAIT, RETRIES } from './busy.js';
import type { Digest } from './files.js';
import { bearerOf, hubAddress, hubName } from './hub.js';
import type { NetworkOptions } from './hub.js';
import { refusal } from './hub-refusal.js';
import type { HubId } from './hub-id.js';
import { get, networkError } from './http.js';
import type { HttpAnswer } from './http.js';

export interface HubFile {
  /** Path in the repository, as the hub gives it: not to be trusted as a path here. */
  readonly path: string;
  readonly bytes: number;
  /** Undefined where the hub gives none: such a file is not downloaded. */
  readonly digest?: Digest;
}

export interface HubListing {
  readonly repository: string;
  /** 40 hex digits: what was listed, whatever the branch holds by now. */
  readonly commit: string;
  readonly files: readonly HubFile[];
  /** As the model card names it. */
  readonly licence?: string;
  /** Whether its files are given only to those who were let in. */
  readonly gated: boolean;
  /** Parameters, by the headers of its weights. */
  readonly parameters?: number;
}

const size = z.number().int().nonnegative();
const total = z.looseObject({ total: z.number().positive() }).optional().catch(undefined);
const answerShape = z.looseObject({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  disabled: z.boolean().nullish(),
  gated: z.union([z.boolean(), z.string()]).nullish(),
  tags: z.array(z.string()).nullish().catch(undefined),
  cardData: z
    .looseObject({ license: z.union([z.string(), z.array(z.string())]).nullish(), license_name: z.string().nullish() })
    .nullish()
    .catch(undefined),
  safetensors: total,
  gguf: total,
  siblings: z
    .array(
      z.looseObject({
        rfilename: z.string(),
        size: size.nullish(),
        blobId: z.string().nullish(),
        lfs: z.looseObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), size }).nullish(),
      }),
    )
    .max(100_000),
});

/** An answer with ten thousands of files; more is no model. */
const LARGEST_ANSWER = 32 << 20;

/**
 * Throws `permission` (gated, private, a token that is not accepted), `not-found` (no such repository or revision),
 * `network` (no answer, busy), `bad-format` (not the API's answer), `cancelled`.
 */
export async function askHub(id: HubId, network: NetworkOptions = {}, signal?: AbortSignal): Promise<HubListing> {
  const address = `${hubAddress(network)}/api/models/${id.repository}/revision/${encodeURIComponent(id.revision)}?blobs=true`;
  const options = { ...network, signal, bearer: bearerOf(network) };
  for (let retries = 0; ; retries++) {
    throwIfCancelled(signal);
    const answer = await get(address, { accept: 'application/json' }, options).catch((error: unknown) => {
      throw unreachable(error);
    });
    try {
      if (answer.status === 200) return listingOf(id, await textOf(answer, signal));
      const wait = busyWait(answer);
      if (wait === undefined) throw refusal(answer, id, network);
      if (retries >= RETRIES || wait > LONGEST_WAIT) {
        throw new LongviewError('network', `${answer.host} is busy (${answer.status}); try again later.`);
      }
      await sleep(wait, undefined, { signal }).catch(() => undefined);
    } finally {
      answer.body.destroy();
    }
  }

  function unreachable(error: unknown): unknown {
    if (!(error instanceof LongviewError) || error.code !== 'network') return error;
    return new LongviewError(
      'network',
      `${error.message} Without a network, download ${id.repository} on another machine and give its folder or .gguf file instead.`,
      { cause: error },
    );
  }

  function listingOf({ repository, revision }: HubId, text: string): HubListing {
    const parsed = answerShape.safeParse(jsonOf(text));
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const what = `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'not valid'}`;
      throw new LongviewError(
        'bad-format',
        `${hubName(network)} gives no usable answer about ${repository}@${revision} (${what}).`,
      );
    }
    const { sha, disabled, gated, cardData, tags, safetensors, gguf, siblings } = parsed.data;
    if (disabled) throw new LongviewError('not-found', `${repository} is disabled on ${hubName(network)}.`);
    const files = siblings.flatMap(({ rfilename, size: bytes, blobId, lfs }): HubFile[] => {
      if (lfs) return [{ path: rfilename, bytes: lfs.size, digest: { kind: 'sha256', hex: lfs.sha256 } }];
      if (bytes == null) return [{ path: rfilename, bytes: 0 }];
      const isId = blobId != null && /^[0-9a-f]{40}$/.test(blobId);
      return [{ path: rfilename, bytes, ...(isId && { digest: { kind: 'git-blob', hex: blobId } }) }];
    });
    const parameters = safetensors?.total ?? gguf?.total;
    const licence = licenceOf(cardData, tags ?? []);
    return {
      repository,
      commit: sha,
      files,
      gated: gated != null && gated !== false,
      ...(licence !== undefined && { licence }),
      ...(parameters !== undefined && { parameters }),
    };
  }
}

function licenceOf(card: z.infer<typeof answerShape>['cardData'], tags: readonly string[]): string | undefined {
  const named = [card?.license ?? []].flat().join(', ');
  const name = named === 'other' && card?.license_name != null ? card.license_name : named;
  const text = name === '' ? tags.find(tag => tag.startsWith('license:'))?.slice('license:'.length) : name;
  // One line, whatever the card says.
  return (
    text
      ?.replace(/[\s\p{C}]+/gu, ' ')
      .trim()
      .slice(0, 200) || undefined
  );
}

async function textOf({ body, host }: HttpAnswer, signal?: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer);
      bytes += (chunk as Buffer).length;
      if (bytes > LARGEST_ANSWER) throw new LongviewError('bad-format', `${host} answers with more than a listing.`);
    }
  } catch (error) {
    throw networkError(error, host, signal);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
