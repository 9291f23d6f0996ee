/**
 * One text being read or written: window, state, and the passes of the forward graphs over them.
 * Order as in kvm.md: a chunk attends to the state as it was before that chunk's overflow is folded in; folding is lazy.
 * Not safe for two calls at once; one session, one caller.
 */
import type { Schedule } from './engine.js';
import { Carried } from './carried.js';
import type { ForwardRole, Model } from './model.js';
import { FORWARD, groupsOf } from './graph-contract.js';
import type { Tensor } from './ort.js';
import { floatData, floats, integers } from './ort.js';
import { rotationOf } from './rotary.js';
import type { Rotation } from './rotary.js';
import { appendedSlots } from './schedule.js';
import type { Slots } from './state.js';
import { emptySlots, joinSlots, sliceSlots } from './state.js';
import type { LayerTensors, WindowBlock } from './window.js';
import { Window, layerTensors } from './window.js';

/** A state that is there before the first token; none of its slots takes merges. */
export interface GivenState {
  readonly slots: Slots;
  /** float32 [L,H,S]: added to each slot's logit. */
  readonly bias: Float32Array;
  /** float32 [G,S]: multiplies read keys. */
  readonly temperature: Float32Array;
}

export interface SessionOptions {
  readonly schedule: Schedule;
  /** Default: the model's (D0). */
  readonly readDistance?: number;
  readonly given?: GivenState;
  /** Sees the un-rotated tokens of each chunk that leaves the window, whatever the schedule keeps of them. */
  readonly onLeaving?: (tokens: Slots) => Promise<void>;
  /** Default: the model's (W). */
  readonly windowChunks?: number;
}

/** What a pass gives beside the new keys and values: logits of the rows asked for, queries of the layers asked for. */
export interface Pass {
  /** float32 [rows,V]. */
  readonly logits: Float32Array;
  /** Layer → float32 [H,n,d], not rotated. */
  readonly queries: ReadonlyMap<number, Float32Array>;
  /** New keys, rotated, float32 [G,n,d]. */
  readonly keys: Float32Array;
  readonly rotation: Rotation;
  readonly firstPosition: number;
}

export interface PassOptions {
  /** Rows of the new tokens whose logits are wanted. */
  readonly logitRows: readonly number[];
  readonly queryLayers?: readonly number[];
}

export class KvmSession {
  private window: Window;
  private state: Slots;
  private stateLayers: LayerTensors;
  private stateBias: readonly Tensor[];
  private readonly givenSlots: number;
  private tokensSeen = 0;
  private readonly readDistance: number;
  private carried: Carried | undefined;

  private constructor(
    private readonly model: Model,
    private readonly options: SessionOptions,
  ) {
    const { architecture, kvm } = model.manifest;
    this.window = new Window(
      architecture,
      kvm.chunk,
      options.windowChunks ?? kvm.windowChunks,
      kvm.trained !== undefined,
    );
    this.carried = architecture.carried && new Carried(architecture);
    this.state = options.given?.slots ?? emptySlots(groupsOf(architecture), architecture.headSize);
    this.givenSlots = this.state.slots;
    this.readDistance = options.readDistance ?? kvm.readDistance;
    const none = new Float32Array(0);
    this.stateLayers = layerTensors(architecture, none, none, 0);
    this.stateBias = this.biasTensors();
  }

  static async start(model: Model, options: SessionOptions): Promise<KvmSession> {
    const session = new KvmSession(model, options);
    if (session.givenSlots > 0) await session.refreshState();
    return session;
  }

  /**
   * A session that has read the same and goes on by itself, so that one reading serves several questions. Costs a copy of
   * one window block; state and full blocks are shared. `onLeaving` hears what leaves either.
   */
  fork(): KvmSession {
    const copy = new KvmSession(this.model, this.options);
    copy.window = this.window.fork();
    copy.carried = this.carried?.fork();
    copy.state = this.state;
    copy.stateLayers = this.stateLayers;
    copy.stateBias = this.stateBias;
    copy.tokensSeen = this.tokensSeen;
    return copy;
  }

  get tokens(): number {
    return this.tokensSeen;
  }

  get slots(): Slots {
    return this.state;
  }

  /** Tokens that the next pass may take at most. */
  get room(): number {
    return this.window.room === 0 ? this.model.manifest.kvm.chunk : this.window.room;
  }

  /** Window blocks, oldest first. */
  windowBlocks(): WindowBlock[] {
    return this.window.blocks();
  }

  /** What the next pass gets of the last one under that name (`Architecture.carried`). */
  carriedTensor(name: string): Tensor | undefined {
    return this.carried?.tensor(name);
  }

  /** One pass over tokens of one chunk (at most `room`). Blocks the thread while it computes. */
  async pass(ids: readonly number[], options: PassOptions): Promise<Pass> {
    const leaving = this.window.roll();
    if (leaving) await this.leave(leaving);
    const n = ids.length;
    if (n === 0 || n > this.window.room) throw new Error(`A pass takes 1 to ${this.window.room} tokens, not ${n}.`);
    const role = this.model.roleOf(n);
    const graph = this.model.graphOf(role);
    const rotation = rotationOf(this.model.manifest.architecture.frequencies, this.tokensSeen, n);
    const { trained } = this.model.manifest.kvm;
    const outputs: string[] = [FORWARD.logits, FORWARD.newKeys, FORWARD.newValues];
    if (trained) outputs.push(FORWARD.newGates);
    outputs.push(...(options.queryLayers ?? []).map(FORWARD.query));
    if (this.carried) outputs.push(...this.carried.outputs);
    const result = await graph.run(this.feeds(ids, rotation, options.logitRows, role), outputs);
    const [keys, values] = [floatData(result[FORWARD.newKeys]!), floatData(result[FORWARD.newValues]!)];
    this.window.append({ keys, values, ...(trained && { gates: floatData(result[FORWARD.newGates]!) }) }, n);
    this.carried?.take(result);
    const firstPosition = this.tokensSeen;
    this.tokensSeen += n;
    return {
      logits: floatData(result[FORWARD.logits]!),
      queries: new Map((options.queryLayers ?? []).map(layer => [layer, floatData(result[FORWARD.query(layer)]!)])),
      keys,
      rotation,
      firstPosition,
    };
  }

  private feeds(
    ids: readonly number[],
    rotation: Rotation,
    logitRows: readonly number[],
    role: ForwardRole,
  ): Record<string, Tensor> {
    const { architecture, kvm } = this.model.manifest;
    const n = ids.length;
    const half = architecture.frequencies.length;
    const { pastLayers, blockLayers } = this.window;
    const feeds: Record<string, Tensor> = {
      [FORWARD.tokenIds]: integers(ids, [1, n]),
      [FORWARD.rows]: integers(rotation.indices, [1, n]),
      [FORWARD.cos]: floats(rotation.cos, [n, half]),
      [FORWARD.sin]: floats(rotation.sin, [n, half]),
      [FORWARD.blockBias]: this.window.blockBias,
      [FORWARD.causalBias]: this.model.causalBias(n),
      [FORWARD.logitRows]: integers(logitRows),
    };
    if (!kvm.trained) {
      const read = rotationOf(architecture.frequencies, this.readDistance, n, 0);
      feeds[FORWARD.readCos] = floats(read.cos, [n, half]);
      feeds[FORWARD.readSin] = floats(read.sin, [n, half]);
    }
    if (this.carried) Object.assign(feeds, this.carried.feeds(this.tokensSeen, n));
    if (role === 'decode') {
      const parts = [this.state.slots, this.window.pastRows, this.window.blockRows, n];
      feeds[FORWARD.parts] = integers(parts);
    }
    for (let i = 0; i < architecture.kvmLayers; i++) {
      feeds[FORWARD.stateKey(i)] = this.stateLayers.keys[i]!;
      feeds[FORWARD.stateValue(i)] = this.stateLayers.values[i]!;
      feeds[FORWARD.stateBias(i)] = this.stateBias[i]!;
      feeds[FORWARD.pastKey(i)] = pastLayers.keys[i]!;
      feeds[FORWARD.pastValue(i)] = pastLayers.values[i]!;
      feeds[FORWARD.blockKey(i)] = blockLayers.keys[i]!;
      feeds[FORWARD.blockValue(i)] = blockLayers.values[i]!;
    }
    return feeds;
  }

  /** Folds a block that leaves the window into the state (kvm.md, Update). */
  private async leave(block: WindowBlock): Promise<void> {
    const { architecture, kvm } = this.model.manifest;
    const { schedule } = this.options;
    const own = this.state.slots - this.givenSlots;
    const drops = schedule.kind === 'windowOnly' && (own > 0 || this.givenSlots > 0);
    if (drops && !this.options.onLeaving) return;
    const rotation = rotationOf(architecture.frequencies, block.firstPosition, kvm.chunk);
    const { folder } = this.model;
    const tokens = await folder.tokensOf(block, rotation, groupsOf(architecture), architecture.headSize);
    await this.options.onLeaving?.(tokens);
    if (drops) return;
    if (schedule.kind === 'windowOnly') {
      this.state = folder.firstSlots(sliceSlots(tokens, 0, kvm.sinks));
    } else if (own === 0) {
      const first = folder.firstSlots(tokens);
      this.state = this.givenSlots === 0 ? first : joinSlots([this.state, first]);
    } else {
      const left = block.firstPosition + kvm.chunk;
      const at = { tokens: this.tokensSeen, left, slots: own, chunk: kvm.chunk };
      const protectedSlots = this.givenSlots > 0 ? this.givenSlots : kvm.sinks;
      const novel = appendedSlots(schedule, at);
      this.state = (await folder.fold(this.state, tokens, { novel }, protectedSlots)).state;
    }
    await this.refreshState();
  }

  private async refreshState(): Promise<void> {
    const { architecture } = this.model.manifest;
    const { groups, slots } = this.state;
    const temperature = new Float32Array(groups * slots).fill(1);
    for (let group = 0; this.options.given && group < groups; group++) {
      const given = this.options.given.temperature;
      temperature.set(given.subarray(group * this.givenSlots, (group + 1) * this.givenSlots), group * slots);
    }
    const { columns, values } = await this.model.folder.readColumns(this.state, temperature);
    this.stateLayers = layerTensors(architecture, columns, values, slots);
    this.stateBias = this.biasTensors();
  }

  /**
   * log(count) of each slot (0 where the model was trained with KVM, which learned to do without), plus the given slots'
   * own bias: [K,g,1,S] per layer. Of a free slot (`giveStates`) the own bias says all.
   */
  private biasTensors(): Tensor[] {
    const { kvm, architecture } = this.model.manifest;
    const { kvmLayers, heads, keyHeads } = architecture;
    const { slots, count } = this.state;
    const queriesPerKey = heads / keyHeads;
    return Array.from({ length: kvmLayers }, (_, layer) => {
      const bias = new Float32Array(heads * slots);
      for (let head = 0; head < heads; head++) {
        const group = layer * keyHeads + Math.floor(head / queriesPerKey);
        for (let slot = 0; !kvm.trained && slot < slots; slot++)
          bias[head * slots + slot] = Math.log(count[group * slots + slot]! || 1);
        for (let slot = 0; this.options.given && slot < this.givenSlots; slot++) {
          bias[head * slots + slot]! += this.options.given.bias[(layer * heads + head) * this.givenSlots + slot]!;
        }
      }
      return floats(bias, [keyHeads, queriesPerKey, 1, slots]);
    });
  }
}

/** All tokens through a session, chunk by chunk; `visit` sees each pass. */
export async function prefill(
  session: KvmSession,
  ids: readonly number[],
  optionsOf: (first: number, count: number) => PassOptions,
  visit: (pass: Pass, first: number, count: number) => void | Promise<void>,
): Promise<void> {
  for (let first = 0; first < ids.length;) {
    const count = Math.min(session.room, ids.length - first);
    const pass = await session.pass(ids.slice(first, first + count), optionsOf(first, count));
    await visit(pass, first, count);
    first += count;
  }
}
