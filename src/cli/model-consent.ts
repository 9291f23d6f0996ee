/**
 * Gets a model onto this machine after saying what that costs: size, source, licence. Never downloads without a yes: the
 * flag `--yes`, or an answer on the terminal.
 */
import { LongviewError } from '../base/index.js';
import {
  installModel,
  modelOffer,
  type InstalledModel,
  type InstallOptions,
  type ModelOffer,
} from '../models/index.js';
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
  await agreeTo(call, costOf(offer), flags, 'longview model add --yes', offer.problem);
  return install(call, flags, offer.name);
}

/**
 * Throws `not-found` where nobody can be asked, `cancelled` where the answer is no. `command` is what says yes; `problem`: of
 * the model that is there.
 */
export async function agreeTo(
  call: Call,
  cost: string,
  flags: ConsentFlags,
  command: string,
  problem?: string,
): Promise<void> {
  const { surface, signal } = call;
  if (problem !== undefined && (flags.yes || surface.canAsk)) surface.note(problem);
  if (flags.yes) {
    surface.note(`Installing the model ${cost}`);
  } else if (!surface.canAsk) {
    throw new LongviewError(
      'not-found',
      `${problem ?? 'The model is not installed:'} ${cost} Agree to the download with --yes, or run \`${command}\`.`,
    );
  } else if (!(await surface.confirm(`Longview needs the model ${cost} Download it now?`, signal))) {
    throw new LongviewError('cancelled', 'Nothing was downloaded, so there is no model. See `longview model list`.');
  }
}

/** With `from` the user's own checkpoint; without it, the catalogue's model of that name is downloaded. */
export async function install(
  { surface, signal }: Call,
  flags: GlobalFlags,
  name: string | undefined,
  own: Pick<InstallOptions, 'from' | 'quantisation' | 'licence' | 'agree'> = {},
): Promise<InstalledModel> {
  const { runGraphsApart } = await import('../engine/index.js');
  const progress = { signal, onProgress: surface.progress, log: surface.log };
  return installModel(dataOf(flags), name, { ...own, ...progress, run: runGraphsApart });
}

/** `NAME: 93 MB to download from SOURCE, 230 MB on disk, licence L.` */
export function costOf(offer: ModelOffer): string {
  const { name, downloadBytes, diskBytes, source, license } = offer;
  return `${name}: ${size(downloadBytes)} to download from ${source}; ${size(diskBytes)} on disk; licence ${license}.`;
}
