/**
 * The workspace state: composed from the gists of all read files in the order of their paths, kept as a blob with the
 * digest of what it was made from, put into the engine when an answer needs it. Never reads source files.
 */
import { throwIfCancelled, type Log } from '../base/index.js';
import type { Engine, PackedSlots } from '../engine/index.js';
import { GiveWay } from './give-way.js';
import { STATE_BLOB, STATE_MODEL_BLOB } from './ledger-scan.js';
import { stateSlots, type MemorySettings } from './settings.js';
import { decodeState, encodeState, stateDigest, stateHeader, type WorkspaceState } from './state-blob.js';
import { partsOf, tokensOf, type LedgerRow, type Store } from './store/index.js';
import type { WorkOptions } from './workspace-memory.js';

/** States of single files kept in the engine at most. */
const MOST_GISTS = 8;

export class StateKeeper {
  /** Slots of gists, by memory key, as far as they are known. */
  private readonly gistSlots = new Map<string, number>();
  /** Ids in the engine, oldest first. */
  private readonly inEngine = new Set<string>();
  private engine: Engine | undefined;
  private generation = 0;

  constructor(
    private readonly store: Store,
    private readonly settings: MemorySettings,
    private readonly log: Log,
  ) {}

  /** Shape of the stored state, if there is one (of that model, where one is given). */
  stored(model?: string): { digest: string; slots: number; bytes: number } | undefined {
    const blob = this.store.getBlob(STATE_BLOB);
    if (!blob?.ok) return undefined;
    if (model !== undefined) {
      const made = this.store.getBlob(STATE_MODEL_BLOB);
      if (!made?.ok || Buffer.from(made.value).toString('latin1') !== model) return undefined;
    }
    const header = stateHeader(blob.value);
    return header.ok
      ? { digest: header.value.digest, slots: header.value.slots, bytes: blob.value.byteLength }
      : undefined;
  }

  /** Composes the state of `rows` (all read files) unless the stored one is it. Returns rows whose memory is bad. */
  async bringUpToDate(
    rows: readonly LedgerRow[],
    engine: () => Promise<Engine>,
    model: string,
    options: WorkOptions,
  ): Promise<LedgerRow[]> {
    const ordered = [...rows].sort((a, b) => (a.path < b.path ? -1 : 1));
    const tokens = ordered.reduce((sum, row) => sum + tokensOf(row), 0);
    const budget = stateSlots(tokens, this.settings);
    const keys = ordered.flatMap(row => partsOf(row).map(part => part.key));
    const digest = stateDigest(keys, model, budget);
    if (this.stored(model)?.digest === digest) return [];
    if (ordered.length === 0 || budget < 1) {
      await this.store.batch(write => write.deleteBlob(STATE_BLOB));
      return [];
    }
    const bad: LedgerRow[] = [];
    const others = new GiveWay();
    for (const row of ordered) {
      if (partsOf(row).some(part => this.slotsOf(part.key) === undefined)) bad.push(row);
      await others.step();
    }
    if (bad.length > 0) return bad;
    const incoming = keys.reduce((sum, key) => sum + (this.gistSlots.get(key) ?? 0), 0);
    const report = (done: number): void =>
      options.onProgress?.({ task: 'Composing the workspace state', done, total: keys.length, unit: 'files' });
    const unusable = new Set<string>();
    const gists = this.gists(keys, report, unusable);
    const running = await engine();
    const slots = await running.compose(gists, { budget, incoming, signal: options.signal });
    throwIfCancelled(options.signal);
    if (unusable.size > 0) return ordered.filter(row => partsOf(row).some(part => unusable.has(part.key)));
    await this.store.batch(write => {
      write.putBlob(STATE_BLOB, encodeState({ digest, tokens, slots }));
      write.putBlob(STATE_MODEL_BLOB, Buffer.from(model, 'latin1'));
    });
    return [];
  }

  /** Puts the stored state (if `workspace`) and the gists of these memories into the engine; returns their ids, the workspace's first. */
  async putInto(engine: Engine, keys: readonly string[], workspace: boolean): Promise<string[]> {
    this.attend(engine);
    const ids: string[] = [];
    const state = workspace ? this.load() : undefined;
    if (state) {
      const id = `workspace:${state.digest}`;
      for (const other of this.inEngine) {
        if (other.startsWith('workspace:') && other !== id) await this.drop(engine, other);
      }
      await this.put(engine, id, state.slots, state.tokens);
      ids.push(id);
    }
    for (const key of keys) {
      const memory = this.store.getMemory(key);
      if (!memory?.ok || memory.value.gist.slots === 0) continue;
      await this.put(engine, `gist:${key}`, memory.value.gist, memory.value.tokens);
      ids.push(`gist:${key}`);
    }
    const gists = [...this.inEngine].filter(id => id.startsWith('gist:') && !ids.includes(id));
    while (gists.length > Math.max(0, MOST_GISTS - keys.length)) await this.drop(engine, gists.shift()!);
    return ids;
  }

  /** Drops the states of single files from the engine, and lets go of what is known of their memories. */
  async release(engine: Engine): Promise<void> {
    this.gistSlots.clear();
    this.attend(engine);
    for (const id of [...this.inEngine]) if (id.startsWith('gist:')) await this.drop(engine, id);
  }

  /** In another engine, or one that was started anew, is nothing of what was put there before. */
  private attend(engine: Engine): void {
    if (this.engine === engine && this.generation === engine.generation) return;
    this.inEngine.clear();
    this.engine = engine;
    this.generation = engine.generation;
  }

  private load(): WorkspaceState | undefined {
    const blob = this.store.getBlob(STATE_BLOB);
    if (!blob) return undefined;
    const state = blob.ok ? decodeState(blob.value) : blob;
    if (state.ok) return state.value.slots.slots > 0 ? state.value : undefined;
    this.log('warning', `The workspace state is not usable (${state.reason}); it is composed again.`);
    return undefined;
  }

  private async put(engine: Engine, id: string, slots: PackedSlots, tokens: number): Promise<void> {
    if (!this.inEngine.delete(id)) await engine.putState(id, slots, Math.max(1, tokens / slots.slots));
    this.inEngine.add(id);
  }

  private async drop(engine: Engine, id: string): Promise<void> {
    this.inEngine.delete(id);
    await engine.dropState(id);
  }

  private slotsOf(key: string): number | undefined {
    const known = this.gistSlots.get(key);
    if (known !== undefined) return known;
    const memory = this.store.getMemory(key);
    if (!memory?.ok) return undefined;
    this.gistSlots.set(key, memory.value.gist.slots);
    return memory.value.gist.slots;
  }

  private *gists(
    keys: readonly string[],
    report: (done: number) => void,
    unusable: Set<string>,
  ): Generator<PackedSlots> {
    for (const [at, key] of keys.entries()) {
      const memory = this.store.getMemory(key);
      if (memory?.ok) yield memory.value.gist;
      else unusable.add(key);
      report(at + 1);
    }
  }
}
