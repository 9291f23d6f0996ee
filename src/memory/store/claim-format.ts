/** Whose a store is and of which format: one of another format is cleared, for its files are read again. */
import { LongviewError } from '../../base/index.js';
import type { Log, Result } from '../../base/index.js';
import type { Environment } from './environment.js';
import { STORE_FORMAT, decodeFormatRecord, encodeFormatRecord } from './format-record.js';
import type { FormatRecord } from './format-record.js';
import type { LiveEnvironment } from './live-environment.js';

const FORMAT_KEY = Buffer.from('store', 'utf8');

/** Clears a store of another format and writes whose it is. */
export function claimFormat(live: LiveEnvironment, workspace: string, log: Log): void {
  const recordOf = ({ format }: Environment): Result<FormatRecord> | undefined => {
    const bytes = format.getBinary(FORMAT_KEY);
    return bytes === undefined ? undefined : decodeFormatRecord(bytes);
  };
  if (live.readOnly !== undefined) {
    const record = live.look(recordOf);
    if (record?.ok === true && record.value.format === STORE_FORMAT) return;
    throw new LongviewError('unsupported', `The memory in ${live.folder} is of another version and cannot be written.`);
  }
  live.commit(environment => {
    const record = recordOf(environment);
    const same = record?.ok === true && record.value.format === STORE_FORMAT;
    if (record !== undefined && !same) {
      const found = record.ok ? `has format ${record.value.format}, not ${STORE_FORMAT}` : 'has no readable format';
      log('warning', `The store in ${live.folder} ${found}; it is built again.`);
      const { ledger, memories, stamps, blobs, lease } = environment;
      for (const database of [ledger, memories, stamps, blobs, lease]) database.clearSync();
    }
    if (same && record.value.workspace === workspace) return;
    const claimed = encodeFormatRecord({ format: STORE_FORMAT, workspace });
    environment.format.putSync(FORMAT_KEY, Buffer.from(claimed));
  });
}
