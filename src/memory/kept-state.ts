/**
 * The workspace state as the store keeps it, with the places of the memories that are in it. A large one is written in pieces,
 * beside the one in use, and takes its place in one small transaction: who looks finds the old one or the new one, whole. Never
 * composes.
 */
import { randomUUID } from 'node:crypto';
import { failed, type Result } from '../base/index.js';
import type { Places } from '../engine/index.js';
import { GiveWay } from './give-way.js';
import {
  STATE_HEADER_BYTES,
  decodeState,
  headerOf,
  stateBytes,
  stateDigest,
  stateHeader,
  statePieces,
  type StateHeader,
  type WorkspaceState,
} from './state-blob.js';
import { SIDES, placesName, type MemoryKey, type Side, type Store, type StoreWriter } from './store/index.js';

/** All blobs of the state but its places have names that begin so. */
const STATE_BLOBS = 'state';
/** Name of the blob that holds the state's header, the sides in use and, in ASCII, the fingerprint of its model. */
const ABOUT_BLOB = 'state-about';
/** Name of the blob that is there while a state is written in pieces, with the name of who writes. */
const WRITING_BLOB = 'state-writing';
const IDENTITY_BYTES = 32;
/** Of one transaction, so that it does not hold the thread for long. */
const MOST_BYTES = 2 << 20;
const MOST_DELETIONS = 500;
/** How often it is looked again where another process put a new state in the place of the one that was looked at. */
const MOST_LOOKS = 3;

interface Sides {
  readonly state: Side;
  readonly places: Side;
}

export interface KeptState extends StateHeader {
  readonly bytes: number;
  /** Which of its blobs are in use. */
  readonly sides: Sides;
}

export interface NewState {
  readonly state: WorkspaceState;
  readonly model: string;
  /** Memories that come into it, and where their slots are. */
  readonly added: readonly MemoryKey[];
  readonly places: readonly Places[];
  /** The state that it was made from by a patch, and what left that; undefined where it was composed. */
  readonly patched?: { readonly from: string; readonly removed: readonly MemoryKey[] };
}

/** What is known of the state, if there is one (of that model, where one is given). */
export function keptState(store: Store, model?: string): KeptState | undefined {
  const blob = store.getBlob(ABOUT_BLOB);
  if (!blob?.ok) return undefined;
  const header = stateHeader(blob.value);
  const [state, places] = blob.value.subarray(STATE_HEADER_BYTES);
  const made = Buffer.from(blob.value.subarray(STATE_HEADER_BYTES + 2)).toString('latin1');
  if (!header.ok || !isSide(state) || !isSide(places) || (model !== undefined && model !== made)) return undefined;
  return { ...header.value, bytes: stateBytes(header.value), sides: { state, places } };
}

/** The state itself; why it cannot be used; undefined where there is none. */
export async function loadState(store: Store): Promise<Result<WorkspaceState> | undefined> {
  let found: Result<WorkspaceState> | undefined;
  for (let look = 0; look < MOST_LOOKS; look++) {
    const kept = keptState(store);
    if (!kept) return undefined;
    found = await loadPieces(store, kept);
    if (found.ok || keptState(store)?.identity === kept.identity) break;
  }
  return found;
}

async function loadPieces(
  store: Store,
  { bytes: length, identity, sides }: KeptState,
): Promise<Result<WorkspaceState>> {
  const others = new GiveWay();
  const bytes = new Uint8Array(length);
  for (let at = 0, piece = 0; at < length; piece++) {
    const blob = store.getBlob(pieceName(sides.state, piece));
    if (!blob?.ok) return blob ?? failed('a piece is missing');
    const part = blob.value.subarray(IDENTITY_BYTES);
    if (Buffer.from(blob.value.subarray(0, IDENTITY_BYTES)).toString('hex') !== identity)
      return failed('of another state');
    if (part.byteLength === 0 || at + part.byteLength > length) return failed('wrong length');
    bytes.set(part, at);
    at += part.byteLength;
    await others.step();
  }
  return decodeState(bytes);
}

/**
 * Keys of the memories that are in the state, or undefined where places of some are missing: what is in it then cannot be
 * told.
 */
export function membersOf(store: Store, kept: KeptState, model: string): MemoryKey[] | undefined {
  const keys = placedOn(kept.sides.places, store);
  return stateDigest(keys, model, kept.budget) === kept.digest ? keys : undefined;
}

/** Keys of the memories that have places in the state. */
export function placedKeys(store: Store): MemoryKey[] {
  const kept = keptState(store);
  return kept ? placedOn(kept.sides.places, store) : [];
}

function placedOn(side: Side, store: Store): MemoryKey[] {
  const prefix = placesName('', side);
  return store.blobNames(prefix).map(name => name.slice(prefix.length));
}

/** Where the slots of that memory are in the state; undefined where that is not known. */
export function placesOf(store: Store, key: MemoryKey, { sides }: KeptState): Places | undefined {
  const blob = store.getBlob(placesName(key, sides.places));
  if (!blob?.ok || blob.value.byteLength % 4 !== 0) return undefined;
  return new Uint32Array(new Uint8Array(blob.value).buffer);
}

/**
 * Puts the new state in the place of the kept one, unless something that comes into it was forgotten meanwhile or, for a patch,
 * another state is kept. True if it is kept now.
 */
export async function keepState(store: Store, next: NewState): Promise<boolean> {
  for (let look = 0; look < MOST_LOOKS; look++) {
    const done = await new StateWriting(store, next).run();
    if (done !== 'another') return done === 'kept';
    // A composed state takes the place of any.
    if (next.patched) return false;
  }
  return false;
}

class StateWriting {
  private readonly by = Buffer.from(randomUUID());
  private readonly before: KeptState | undefined;
  private readonly sides: Sides;
  private readonly others = new GiveWay();
  private pending: [name: string, bytes: Uint8Array][] = [];
  private bytes = 0;
  private hasBegun = false;

  constructor(
    private readonly store: Store,
    private readonly next: NewState,
  ) {
    this.before = keptState(store);
    const { state = 1, places = 1 } = this.before?.sides ?? {};
    this.sides = { state: otherSide(state), places: next.patched ? places : otherSide(places) };
  }

  /** `another`: not the state that was there at first is kept. */
  async run(): Promise<'kept' | 'forgotten' | 'another'> {
    const { store, next, sides } = this;
    await removeUnused(store);
    const identity = Buffer.from(next.state.identity, 'hex');
    let piece = 0;
    for (const bytes of statePieces(next.state, MOST_BYTES)) {
      const failure = await this.put(pieceName(sides.state, piece++), Buffer.concat([identity, bytes]));
      if (failure) return failure;
    }
    for (const [at, key] of next.added.entries()) {
      const { buffer, byteOffset, byteLength } = next.places[at]!;
      const bytes = new Uint8Array(buffer, byteOffset, byteLength);
      // Those of a patch go where the kept state looks for its members, so they come with the new one.
      const name = placesName(key, sides.places);
      if (next.patched) this.pending.push([name, bytes]);
      else {
        const failure = await this.put(name, bytes);
        if (failure) return failure;
      }
    }
    const failure = await this.write(true, write => {
      for (const key of next.patched?.removed ?? []) write.deleteBlob(placesName(key, sides.places));
      const header = Buffer.concat([headerOf(next.state), Buffer.from([sides.state, sides.places])]);
      write.putBlob(ABOUT_BLOB, Buffer.concat([header, Buffer.from(next.model, 'latin1')]));
      write.deleteBlob(WRITING_BLOB);
    });
    if (failure) return failure;
    await removeUnused(store);
    return 'kept';
  }

  private async put(name: string, bytes: Uint8Array): Promise<'forgotten' | 'another' | undefined> {
    if (this.bytes > 0 && this.bytes + bytes.byteLength > MOST_BYTES) {
      const failure = await this.write(false, write => {
        if (!this.hasBegun) write.putBlob(WRITING_BLOB, this.by);
      });
      if (failure) return failure;
      this.hasBegun = true;
      await this.others.step();
    }
    this.pending.push([name, bytes]);
    this.bytes += bytes.byteLength;
    return undefined;
  }

  /** One transaction: what is pending, and more; or nothing, and why. */
  private async write(
    isLast: boolean,
    more: (write: StoreWriter) => void,
  ): Promise<'forgotten' | 'another' | undefined> {
    let failure: 'forgotten' | 'another' | undefined;
    await this.store.batch(write => {
      failure = this.failure(isLast);
      if (failure) return;
      for (const [name, bytes] of this.pending) write.putBlob(name, bytes);
      more(write);
    });
    this.pending = [];
    this.bytes = 0;
    return failure;
  }

  private failure(isLast: boolean): 'forgotten' | 'another' | undefined {
    const { store, before, next, hasBegun } = this;
    if (keptState(store)?.identity !== (next.patched?.from ?? before?.identity)) return 'another';
    if ((isLast || !hasBegun) && !next.added.every(key => store.hasMemory(key))) return 'forgotten';
    if (!hasBegun) return undefined;
    // Who forgets something removes this blob (`deleteState`).
    const writing = store.getBlob(WRITING_BLOB);
    return writing?.ok && this.by.equals(writing.value) ? undefined : 'forgotten';
  }
}

/** Removes the state and all places; it is composed again at the next use. */
export function dropState(store: Store): Promise<void> {
  return store.batch(write => deleteState(write, store));
}

/** The same within a transaction; what is being written beside it is refused from then on. */
export function deleteState(write: StoreWriter, store: Store): void {
  const places = SIDES.flatMap(side => store.blobNames(placesName('', side)));
  for (const name of [...store.blobNames(STATE_BLOBS), ...places]) write.deleteBlob(name);
}

/** Removes what was left by a state that another took the place of, or that was never finished. */
async function removeUnused(store: Store): Promise<void> {
  const sides = keptState(store)?.sides;
  const own = sides && pieceName(sides.state, '');
  const names = store.blobNames(STATE_BLOBS).filter(name => !sides || (name !== ABOUT_BLOB && !name.startsWith(own!)));
  for (const side of SIDES) {
    if (side !== sides?.places) names.push(...store.blobNames(placesName('', side)));
  }
  const others = new GiveWay();
  for (let at = 0; at < names.length; at += MOST_DELETIONS) {
    await store.batch(write => names.slice(at, at + MOST_DELETIONS).forEach(name => write.deleteBlob(name)));
    await others.step();
  }
}

function pieceName(side: Side, piece: number | ''): string {
  return `${STATE_BLOBS} ${side} ${piece}`;
}

function otherSide(side: Side): Side {
  return side === 0 ? 1 : 0;
}

function isSide(side: number | undefined): side is Side {
  return side === 0 || side === 1;
}
