/** The workspace state as the store keeps it, with the places of the memories that are in it. Never composes. */
import type { Result } from '../base/index.js';
import type { Places } from '../engine/index.js';
import { STATE_HEADER_BYTES, decodeState, encodeState, stateBytes, stateDigest, stateHeader } from './state-blob.js';
import type { StateHeader, WorkspaceState } from './state-blob.js';
import { placesName, type MemoryKey, type Store, type StoreWriter } from './store/index.js';

/** Name of the blob that holds the workspace state. */
const STATE_BLOB = 'state';
/** Name of the blob that holds the state's header and, in ASCII, the fingerprint of its model: to be looked at often. */
const ABOUT_BLOB = 'state-about';

export interface KeptState extends StateHeader {
  readonly bytes: number;
}

/** What is known of the state, if there is one (of that model, where one is given). */
export function keptState(store: Store, model?: string): KeptState | undefined {
  const blob = store.getBlob(ABOUT_BLOB);
  if (!blob?.ok) return undefined;
  const header = stateHeader(blob.value);
  const made = Buffer.from(blob.value.subarray(STATE_HEADER_BYTES)).toString('latin1');
  if (!header.ok || (model !== undefined && model !== made)) return undefined;
  return { ...header.value, bytes: stateBytes(header.value) };
}

/** The state itself; why it cannot be used; undefined where there is none. */
export function loadState(store: Store): Result<WorkspaceState> | undefined {
  const blob = store.getBlob(STATE_BLOB);
  return blob?.ok ? decodeState(blob.value) : blob;
}

/**
 * Keys of the memories that are in the state, or undefined where places of some are missing: what is in it then cannot be
 * told.
 */
export function membersOf(store: Store, kept: KeptState, model: string): MemoryKey[] | undefined {
  const keys = placedKeys(store);
  return stateDigest(keys, model, kept.budget) === kept.digest ? keys : undefined;
}

/** Keys of the memories that have places. */
export function placedKeys(store: Store): MemoryKey[] {
  const prefix = placesName('');
  return store.blobNames(prefix).map(name => name.slice(prefix.length));
}

/** Where the slots of that memory are in the state; undefined where that is not known. */
export function placesOf(store: Store, key: MemoryKey): Places | undefined {
  const blob = store.getBlob(placesName(key));
  if (!blob?.ok || blob.value.byteLength % 4 !== 0) return undefined;
  return new Uint32Array(new Uint8Array(blob.value).buffer);
}

export function putState(write: StoreWriter, state: WorkspaceState, model: string): void {
  const bytes = encodeState(state);
  write.putBlob(STATE_BLOB, bytes);
  write.putBlob(ABOUT_BLOB, Buffer.concat([bytes.subarray(0, STATE_HEADER_BYTES), Buffer.from(model, 'latin1')]));
}

export function putPlaces(write: StoreWriter, key: MemoryKey, places: Places): void {
  write.putBlob(placesName(key), new Uint8Array(places.buffer, places.byteOffset, places.byteLength));
}

/** Removes the state and all places; it is composed again at the next use. */
export function dropState(store: Store): Promise<void> {
  return store.batch(write => deleteState(write, store));
}

export function deleteState(write: StoreWriter, store: Store): void {
  for (const name of [STATE_BLOB, ABOUT_BLOB]) write.deleteBlob(name);
  dropPlaces(write, placedKeys(store));
}

export function dropPlaces(write: StoreWriter, keys: readonly MemoryKey[]): void {
  for (const key of keys) write.deleteBlob(placesName(key));
}
