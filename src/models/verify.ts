/**
 * Whether an installed model is still what was installed: sizes and SHA-256 of its files, then its graphs run again on the
 * prompt of its conversion and held against what the checkpoint gave. Changes nothing.
 */
import { LongviewError } from '../base/index.js';
import type { GraphRunner, verifyStoredCheck as StoredCheck } from '../convert/index.js';
import type { InstalledModel } from './installed.js';
import { verifyFiles } from './manifest.js';
import type { VerifyOptions } from './manifest.js';

export interface VerifiedModel {
  /** From the checkpoint, as `manifest.verification` measures it. */
  readonly difference: number;
  readonly tolerance: number;
}

/** Throws `bad-format` or `hash-mismatch` for damaged files, `bad-format` where it computes something else, `cancelled`. */
export async function verifyModel(
  { folder, manifest }: InstalledModel,
  run: GraphRunner,
  options: VerifyOptions = {},
): Promise<VerifiedModel> {
  await verifyFiles(folder, manifest, options);
  // This room knows a part of the manifest; the converter wrote it whole.
  const whole = manifest as unknown as Parameters<typeof StoredCheck>[1];
  const { verifyStoredCheck } = await import('../convert/index.js');
  const check = await verifyStoredCheck(folder, whole, run, options.signal, options.onProgress);
  if (check.difference <= check.tolerance) return check;
  throw new LongviewError(
    'bad-format',
    `Model ${manifest.name} no longer computes what its checkpoint did (difference ${check.difference.toPrecision(2)}, allowed ${check.tolerance}): its files are whole, so suspect memory or processor, or convert it again.`,
  );
}
