/** Door of the store: opening it, its values, their bytes, and who reads the workspace. Only `environment.ts` knows LMDB. */
export { SIDES, openStore, placesName } from './store.js';
export type { GarbageOptions, Ledger, Side, Store, StoreOptions, StoreWriter, StoredMemory } from './store.js';
export { compactStore, isMarkedForCompaction } from './compact.js';
export { storeFolder } from './store-folder.js';
export { decodeFileMemory, encodeFileMemory, fileMemoryBytes, fileMemoryKey } from './file-memory.js';
export type { FileMemory, GistMemory, MemoryHead, MemoryIdentity, MemoryKey, RecallMemory } from './file-memory.js';
export {
  LEDGER_STATES,
  filePart,
  hasWholeGist,
  gistKeyOf,
  isOfUse,
  isWhole,
  keysOf,
  partsOf,
  slotsOf,
  tokensOf,
} from './ledger-row.js';
export type { FilePart, LedgerRow, LedgerState } from './ledger-row.js';
export { mergedProvenance, pairsOfSlot, provenanceOf } from './provenance.js';
export type { Provenance } from './provenance.js';
export type { HeldLease, LeaseTimes, ReaderLease } from './reader-lease.js';
