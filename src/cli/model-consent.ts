/**
 * Gets a model onto this machine after saying what that costs: size, source, licence. Never downloads without a yes: the
 * flag `--yes`, or an answer on the terminal.
 */
import { LongviewError } from '../base/index.js';
import { installModel, modelOffer, type InstalledModel, type ModelOffer } from '../models/index.js';
import { dataOf, type Call, type GlobalFlags } from './house.js';
import { size } from './text.js';

export interface ConsentFlags extends GlobalFlags {
  readonly yes?: boolean;
}

/** Makes sure that the model of this call is installed; `missing` when it was not. */
export async function ensureModel(call: Call, flags: ConsentFlags): Promise<void> {
  const offer = await modelOffer(dataOf(flags), flags.model);
  if (!offer.installed) await installOffered(call, offer, flags);
}

/** Downloads and converts what is offered, once there is a yes. */
export async function installOffered(call: Call, offer: ModelOffer, flags: ConsentFlags): Promise<InstalledModel> {
  const { surface, signal } = call;
  if (flags.yes) {
    surface.note(`Installing the model ${costOf(offer)}`);
  } else if (!surface.canAsk) {
    throw new LongviewError(
      'not-found',
      `The model is not installed: ${costOf(offer)} Agree to the download with --yes, or run \`longview model add --yes\`.`,
    );
  } else if (!(await surface.confirm(`Longview needs the model ${costOf(offer)} Download it now?`, signal))) {
    throw new LongviewError('cancelled', 'Nothing was downloaded, so there is no model. See `longview model list`.');
  }
  return install(call, flags, { name: offer.name });
}

/** `from` is a checkpoint on this disk; without it, the model is downloaded. */
export async function install(
  { surface, signal }: Call,
  flags: GlobalFlags,
  { name, from }: { readonly name?: string; readonly from?: string },
): Promise<InstalledModel> {
  // The converter's check runs the graphs, so this is one of the few places that load onnxruntime into this process.
  const { runGraphs } = await import('../engine/index.js');
  return installModel(dataOf(flags), name, {
    from,
    run: runGraphs,
    signal,
    onProgress: surface.progress,
    log: surface.log,
  });
}

/** `NAME: 93 MB to download from SOURCE, 230 MB on disk, licence L.` */
export function costOf(offer: ModelOffer): string {
  const { name, downloadBytes, diskBytes, source, license } = offer;
  return `${name}: ${size(downloadBytes)} to download from ${source}; ${size(diskBytes)} on disk; licence ${license}.`;
}
