/** `longview model convert`: the user's own checkpoint, from this disk or from the hub, becomes an installed model. */
import { existsSync } from 'node:fs';
import { LongviewError } from '../../base/index.js';
import {
  checkedName,
  estimatedDiskBytes,
  findOnHub,
  hubBytesOf,
  parseHubId,
  type HubCheckpoint,
  type Quantisation,
} from '../../models/index.js';
import type { Call } from '../house.js';
import { agreeTo, costOf, install, type ConsentFlags } from '../model-consent.js';
import { report } from './model.js';

export interface ConvertFlags extends ConsentFlags {
  readonly as?: string;
  readonly quant?: Quantisation;
  readonly licence?: string;
}

/** `what` is a path where there is such a file or folder, else a name of the hub. */
export async function runModelConvert(call: Call, what: string, flags: ConvertFlags): Promise<void> {
  const licence = flags.licence?.trim();
  if (licence !== undefined && !/^[\p{L}\p{N}\p{P}\p{S} ]{1,200}$/u.test(licence)) {
    throw new LongviewError('usage', 'The licence is one line of at most 200 characters, such as Apache-2.0.');
  }
  if (flags.as !== undefined) checkedName(flags.as);
  const own = { quantisation: flags.quant, licence };
  if (existsSync(what)) {
    report(call, await install(call, flags, flags.as, { ...own, from: what }), flags);
    return;
  }
  const from = await ofHub(call, what);
  const agree = async (name: string, quantisation: Quantisation): Promise<void> => {
    const offer = {
      name,
      installed: false,
      downloadBytes: hubBytesOf(from),
      diskBytes: estimatedDiskBytes(from, quantisation),
      source: `${from.host}/${from.repository} (commit ${from.commit.slice(0, 12)})`,
      license: licence ?? from.licence ?? 'not stated',
    };
    await agreeTo(call, costOf(offer), flags, `longview model convert ${what} --yes`);
  };
  report(call, await install(call, flags, flags.as, { ...own, from, agree }), flags);
}

async function ofHub({ signal }: Call, what: string): Promise<HubCheckpoint> {
  const id = parseHubId(what);
  if (id) return findOnHub(id, { signal });
  throw new LongviewError(
    'not-found',
    `There is no file or folder ${JSON.stringify(what)}, and it is no name of the hub (ORG/NAME, ORG/NAME@REVISION or ORG/NAME/FILE.gguf).`,
  );
}
