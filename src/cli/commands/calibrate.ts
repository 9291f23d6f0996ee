/** `longview calibrate`: recall heads and values for an installed model, from commented code. Fits in this process. */
import { calibrate, ownSources, type Calibrated } from '../../calibrate/index.js';
import type { RecallFigures } from '../../engine/index.js';
import { findModel, writeRecall } from '../../models/index.js';
import { dataOf, folderOf, type Call, type GlobalFlags } from '../house.js';
import { count, duration, plural } from '../text.js';

export interface CalibrateFlags extends GlobalFlags {
  readonly tokens?: number;
  readonly fresh?: boolean;
  readonly dryRun?: boolean;
}

const DEFAULT_TOKENS = 60_000;

export async function runCalibrate(
  call: Call,
  name: string,
  dirs: readonly string[],
  flags: CalibrateFlags,
): Promise<void> {
  const { surface, signal } = call;
  const started = Date.now();
  const { tokens = DEFAULT_TOKENS, fresh, threads, dryRun = false } = flags;
  const folders = dirs.length > 0 ? dirs.map(folderOf) : [ownSources()];
  const model = await findModel(dataOf(flags), name);
  const result = await calibrate(model.folder, {
    ...{ folders, tokens, fresh, threads, signal },
    onProgress: surface.progress,
  });
  const { installed, settings } = result;
  const { fitted } = settings.calibration;
  const isBetter = installed === undefined || fitted.mrr > installed.mrr;
  const written = isBetter && !dryRun;
  const readsAgain = written && (await writeRecall(model.folder, settings, result.values, signal)).readsAgain;
  const milliseconds = Date.now() - started;
  if (flags.json) {
    const { files, tokens: read, passes, best } = result;
    const { heads, calibration } = settings;
    surface.json({
      ...{ model: model.name, files, tokens: read, ...calibration, installed, heads, passes, best },
      ...{ written, readsAgain, milliseconds },
    });
    return;
  }
  for (const line of linesOf(result)) surface.out(`${line}\n`);
  surface.out(`${outcome({ isBetter, dryRun, readsAgain })} (${duration(milliseconds)})\n`);
}

function linesOf({ settings, files, tokens, installed, passes, best }: Calibrated): string[] {
  const { questions, heldOut, unfitted, fitted } = settings.calibration;
  const heads = settings.heads.map(([layer, head]) => `${layer}.${head}`).join(' ');
  return [
    `Read ${count(tokens)} tokens of ${plural(files, 'file')}: ${plural(questions, 'question')} to train on, ${count(heldOut)} held out.`,
    `${plural(settings.heads.length, 'recall head')} (layer.head): ${heads}`,
    'Held-out questions        MRR   among the first 5',
    ...(installed ? [row('as the model was', installed)] : []),
    row('these heads, unfitted', unfitted),
    row(best === 0 ? 'not better by fitting' : `fitted, pass ${best} of ${passes.length - 1}`, fitted),
  ];
}

function row(label: string, { mrr, recallAt5 }: RecallFigures): string {
  return `  ${label.padEnd(22)}  ${mrr.toFixed(3)}   ${Math.round(100 * recallAt5)} %`;
}

function outcome({
  isBetter,
  dryRun,
  readsAgain,
}: {
  isBetter: boolean;
  dryRun: boolean;
  readsAgain: boolean;
}): string {
  if (!isBetter) return 'Not better than what the model has: nothing is changed.';
  if (dryRun) return 'Nothing is changed (--dry-run).';
  return readsAgain
    ? 'The model has them now. They read other keys than before, so folders are read again when they are next used.'
    : 'The model has them now. Memories stay as they are.';
}
