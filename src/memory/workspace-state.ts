/**
 * The workspace state: composed from the gists of all read files in the order of their paths, patched when few of them change,
 * composed again when much was patched; kept with the digest of what it was made from. Never reads source files.
 */
import { codeOf, throwIfCancelled, type Log } from '../base/index.js';
import type { ComposedState, Engine, PackedSlots, PlacedGist } from '../engine/index.js';
import { GiveWay } from './give-way.js';
import { dropState, keepState, keptState, loadState, membersOf, placesOf, type KeptState } from './kept-state.js';
import { MOST_BUDGET_CHANGE, MOST_IN_ONE_PATCH, MOST_PATCHED, stateSlots, type MemorySettings } from './settings.js';
import { patchedIdentity, stateDigest } from './state-blob.js';
import { StatesInEngine } from './states-in-engine.js';
import { keysOf, partsOf, type LedgerRow, type Store } from './store/index.js';
import type { WorkOptions } from './workspace-memory.js';

export interface StateWork extends WorkOptions {
  readonly engine: () => Promise<Engine>;
  /** Fingerprint of the model. */
  readonly model: string;
  /** `RefreshOptions.cpuShare`, as it is now. */
  readonly share?: () => number | undefined;
}

/** What the state shall be made of. */
interface Wanted {
  /** Keys of memories in canonical order. */
  readonly keys: readonly string[];
  readonly tokens: number;
  readonly budget: number;
  readonly digest: string;
}

export class StateKeeper {
  /** Slots of gists, by memory key, as far as they are known. */
  private readonly gistSlots = new Map<string, number>();
  readonly inEngine: StatesInEngine;

  constructor(
    private readonly store: Store,
    private readonly settings: MemorySettings,
    private readonly log: Log,
  ) {
    this.inEngine = new StatesInEngine(store, log);
  }

  /** What is kept, if there is a state (of that model, where one is given). */
  stored(model?: string): KeptState | undefined {
    return keptState(this.store, model);
  }

  /**
   * Makes the state one of `rows` (all read files). Few changes are patched in first, so that answers see them while what has
   * drifted is composed again. Returns rows whose memory is bad; then nothing is sure.
   */
  async bringUpToDate(rows: readonly LedgerRow[], work: StateWork): Promise<LedgerRow[]> {
    const ordered = [...rows].sort((a, b) => (a.path < b.path ? -1 : 1));
    const parts = ordered.flatMap(row => partsOf(row).filter(part => !part.noGist));
    const keys = parts.map(part => part.key);
    const tokens = parts.reduce((sum, part) => sum + part.tokens, 0);
    const wanted = this.wanted(keys, tokens, work.model);
    if (wanted.keys.length === 0 || wanted.budget < 1) {
      if (this.stored()) await dropState(this.store);
      return [];
    }
    if (this.stored(work.model)?.digest !== wanted.digest) await this.patch(wanted, work);
    const kept = this.stored(work.model);
    if (kept?.digest === wanted.digest && !hasDrifted(kept)) return [];
    const bad = await this.compose(wanted, work);
    return ordered.filter(row => partsOf(row).some(part => bad.has(part.key)));
  }

  /**
   * Makes the kept state fit for an answer: what is in no row of the ledger any more is taken out. False where there is no
   * state, or it can't be taken out: then it has to be brought up to date.
   */
  async takeOut(ledger: readonly LedgerRow[], work: StateWork): Promise<boolean> {
    const kept = this.stored(work.model);
    const members = kept && membersOf(this.store, kept, work.model);
    if (!kept || !members) return false;
    const remembered = new Set(ledger.flatMap(keysOf));
    const gone = members.filter(key => !remembered.has(key));
    if (gone.length === 0) return true;
    const tokens = gone.reduce((sum, key) => sum + this.tokensIn(key), 0);
    const staying = members.filter(key => remembered.has(key));
    const wanted = this.wanted(staying, kept.tokens - tokens, work.model);
    return staying.length > 0 && (await this.patch(wanted, work));
  }

  /** Drops the states of single files from the engine, and lets go of what is known of their memories. */
  release(engine: Engine): Promise<void> {
    this.gistSlots.clear();
    return this.inEngine.release(engine);
  }

  private wanted(keys: readonly string[], tokens: number, model: string): Wanted {
    const budget = stateSlots(tokens, this.settings);
    return { keys, tokens, budget, digest: stateDigest(keys, model, budget) };
  }

  /** True if the kept state is the wanted one now; false, and nothing changed, where it has to be composed. */
  private async patch(wanted: Wanted, { engine, model, signal }: StateWork): Promise<boolean> {
    const kept = this.stored(model);
    const members = kept && membersOf(this.store, kept, model);
    if (!kept || !members) return false;
    const before = new Set(members);
    const after = new Set(wanted.keys);
    const change = {
      remove: members.filter(key => !after.has(key)),
      add: wanted.keys.filter(key => !before.has(key)),
    };
    const changed = [...change.remove, ...change.add].reduce((sum, key) => sum + this.tokensIn(key), 0);
    if (changed > MOST_IN_ONE_PATCH * wanted.tokens) return false;
    const state = await loadState(this.store);
    const remove = change.remove.map(key => this.placed(key, kept));
    const add = change.add.map(key => this.gist(key));
    if (!state?.ok || state.value.identity !== kept.identity || !remove.every(isThere) || !add.every(isThere))
      return false;
    const running = await engine();
    let patched: ComposedState;
    try {
      patched = await running.patch(state.value.slots, { remove, add, budget: wanted.budget }, { signal });
    } catch (error) {
      if (codeOf(error) !== 'stale') throw error;
      this.log('warning', 'The workspace state does not hold what it should; it is composed again.');
      return false;
    }
    throwIfCancelled(signal);
    const identity = patchedIdentity(kept.identity, change.remove, change.add);
    const patchedTokens = kept.patchedTokens + changed;
    const about = { ...wanted, identity, patchedTokens, composedBudget: kept.composedBudget };
    return keepState(this.store, {
      ...{ model, state: { ...about, slots: patched.state }, added: change.add, places: patched.places },
      patched: { from: kept.identity, removed: change.remove },
    });
  }

  /** Returns keys of memories that can't be used; then the state stays as it was. */
  private async compose(wanted: Wanted, work: StateWork): Promise<Set<string>> {
    const { engine, model, signal, onProgress, share } = work;
    const { keys, budget } = wanted;
    const others = new GiveWay();
    const bad = new Set<string>();
    let incoming = 0;
    for (const key of keys) {
      const slots = this.slotsOf(key);
      if (slots === undefined) bad.add(key);
      else incoming += slots;
      await others.step();
    }
    if (bad.size > 0) return bad;
    const report = (done: number): void =>
      onProgress?.({ task: 'Composing the workspace state', done, total: keys.length, unit: 'files' });
    const running = await engine();
    const options = { budget, incoming, signal, cpuShare: share?.() };
    const composed = await running.compose(this.gists(keys, report, bad), options);
    throwIfCancelled(signal);
    if (bad.size > 0) return bad;
    const about = { ...wanted, identity: wanted.digest, patchedTokens: 0, composedBudget: budget };
    const state = { ...about, slots: composed.state };
    await keepState(this.store, { state, model, added: keys, places: composed.places });
    return bad;
  }

  private tokensIn(key: string): number {
    const memory = this.store.getGist(key);
    return memory?.ok ? memory.value.tokens : 0;
  }

  private gist(key: string): PackedSlots | undefined {
    const memory = this.store.getGist(key);
    return memory?.ok ? memory.value.gist : undefined;
  }

  private placed(key: string, kept: KeptState): PlacedGist | undefined {
    const gist = this.gist(key);
    const places = placesOf(this.store, key, kept);
    return gist && places ? { gist, places } : undefined;
  }

  private slotsOf(key: string): number | undefined {
    const slots = this.gistSlots.get(key) ?? this.gist(key)?.slots;
    if (slots !== undefined) this.gistSlots.set(key, slots);
    return slots;
  }

  private *gists(keys: readonly string[], report: (done: number) => void, bad: Set<string>): Generator<PackedSlots> {
    for (const [at, key] of keys.entries()) {
      const gist = this.gist(key);
      if (gist) yield gist;
      else bad.add(key);
      report(at + 1);
    }
  }
}

function hasDrifted({ patchedTokens, tokens, budget, composedBudget }: KeptState): boolean {
  const change = Math.max(budget, composedBudget) / Math.min(budget, composedBudget);
  return patchedTokens > MOST_PATCHED * tokens || change > MOST_BUDGET_CHANGE;
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined;
}
