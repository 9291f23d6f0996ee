/** Export and import of a workspace's memory, for the model and the settings in use. Never reads a file into memory. */
import { LongviewError } from '../../base/index.js';
import { memoryEndings } from '../memory-keys.js';
import type { Refresher } from '../refresh.js';
import { readingSettings, type MemorySettings } from '../settings.js';
import type { LedgerRow, Store } from '../store/index.js';
import type { Coverage, WorkOptions } from '../workspace-memory.js';
import { checkExports, putExports, type ImportCounts } from './import-exports.js';
import type { MemoryShape } from './sound-memory.js';
import { writeExport, type ExportOptions, type ExportReport } from './write-export.js';

export interface KnownModel {
  readonly fingerprint: string;
  readonly name?: string;
  readonly shape?: MemoryShape;
}

export interface ImportReport extends ImportCounts {
  /** After it. */
  readonly coverage: Coverage;
}

interface Parts {
  readonly store: Store;
  readonly settings: MemorySettings;
  /** Absent where there is none. */
  readonly model: KnownModel | undefined;
}

export function exportMemory(
  file: string,
  parts: Parts & { readonly rows: readonly LedgerRow[] },
  options: ExportOptions,
): Promise<ExportReport> {
  const { store, rows, model, settings } = parts;
  if (model === undefined) {
    const advice = 'install or choose the model it was read with (see `longview model list`).';
    throw new LongviewError('not-found', `Nothing can be exported without knowing the model: ${advice}`);
  }
  const { name = '', fingerprint } = model;
  const head = { model: { name, fingerprint }, settings: settingsOfText(settings) };
  const settingsOf = (path: string): string => readingSettings(settings, path);
  return writeExport(
    { store, rows, head, ending: memoryEndings(fingerprint, settings), settings: settingsOf },
    file,
    options,
  );
}

export async function importMemory(
  files: readonly string[],
  parts: Parts & { readonly refresher: Refresher },
  options: WorkOptions & { readonly signal: AbortSignal },
): Promise<ImportCounts> {
  const { store, settings, model, refresher } = parts;
  const target = { model, settings: settingsOfText(settings) };
  await checkExports(files, target, options);
  if (model === undefined) return { files: 0, added: 0, known: 0 }; // No file: else the check has thrown.
  return refresher.asReader({ ...options, onScanned: () => undefined }, async work => {
    const counts = await putExports(files, target, store, work);
    await refresher.lookUp(work, model.fingerprint);
    return counts;
  });
}

/** Of files that are their own text. */
function settingsOfText(settings: MemorySettings): string {
  return readingSettings(settings, '');
}
