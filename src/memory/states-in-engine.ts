/**
 * Which states the engine holds: the workspace's and some files' gists, put there when an answer needs them. Never composes.
 */
import type { Log } from '../base/index.js';
import type { Engine } from '../engine/index.js';
import { keptState, loadState } from './kept-state.js';
import type { Store } from './store/index.js';

/** States of single files kept in the engine at most. */
const MOST_GISTS = 8;

export class StatesInEngine {
  /** Ids in the engine, oldest first. */
  private readonly held = new Set<string>();
  private engine: Engine | undefined;
  private generation = 0;

  constructor(
    private readonly store: Store,
    private readonly log: Log,
  ) {}

  /**
   * Puts the kept state (if `workspace`) and the gists of these memories into the engine; returns their ids, the workspace's
   * first. Undefined where the state turned out damaged.
   */
  async put(engine: Engine, keys: readonly string[], workspace: boolean): Promise<string[] | undefined> {
    this.attend(engine);
    const ids: string[] = [];
    const kept = workspace ? keptState(this.store, engine.model.fingerprint) : undefined;
    if (kept && kept.slots > 0) {
      const id = `workspace:${kept.identity}`;
      for (const other of this.held) {
        if (other.startsWith('workspace:') && other !== id) await this.drop(engine, other);
      }
      if (!this.held.has(id)) {
        const state = await loadState(this.store);
        if (state?.ok !== true || state.value.identity !== kept.identity) {
          this.log(
            'warning',
            `The workspace state is not usable (${state?.ok === false ? state.reason : 'not there'}).`,
          );
          return undefined;
        }
        await engine.putState(id, state.value.slots, tokensPerSlot(state.value));
      }
      this.renew(id);
      ids.push(id);
    }
    for (const key of keys) {
      const memory = this.store.getGist(key);
      if (!memory?.ok || memory.value.gist.slots === 0) continue;
      const id = `gist:${key}`;
      const { gist: slots, tokens } = memory.value;
      if (!this.held.has(id)) await engine.putState(id, slots, tokensPerSlot({ slots, tokens }));
      this.renew(id);
      ids.push(id);
    }
    const gists = [...this.held].filter(id => id.startsWith('gist:') && !ids.includes(id));
    while (gists.length > Math.max(0, MOST_GISTS - keys.length)) await this.drop(engine, gists.shift()!);
    return ids;
  }

  /** Drops the states of single files. */
  async release(engine: Engine): Promise<void> {
    this.attend(engine);
    for (const id of [...this.held]) if (id.startsWith('gist:')) await this.drop(engine, id);
  }

  /** In another engine, or one that was started anew, is nothing of what was put there before. */
  private attend(engine: Engine): void {
    if (this.engine === engine && this.generation === engine.generation) return;
    this.held.clear();
    this.engine = engine;
    this.generation = engine.generation;
  }

  /** The newest of those held. */
  private renew(id: string): void {
    this.held.delete(id);
    this.held.add(id);
  }

  private async drop(engine: Engine, id: string): Promise<void> {
    this.held.delete(id);
    await engine.dropState(id);
  }
}

function tokensPerSlot({
  slots,
  tokens,
}: {
  readonly slots: { readonly slots: number };
  readonly tokens: number;
}): number {
  return Math.max(1, tokens / slots.slots);
}
