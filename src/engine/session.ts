/**
 * One text being read or written: window, state, and the passes of the forward graphs over them.
 * Order as in kvm.md: a chunk attends to the state as it was before that chunk's overflow is folded in; folding is lazy.
 * Not safe for two calls at once; one session, one caller.
 */
import type { Schedule } from './engine.js';
import type { StatePart } from './growing-state.js';
import { groupsOfLayers, fittedReading, scheduleOf } from './growing-state.js';
import { Carried } from './carried.js';
import type { ForwardRole, Model } from './model.js';
import { FORWARD, groupsOf } from './graph-contract.js';
import type { Tensor } from './ort.js';
import { floatData, floats, integers } from './ort.js';
import { rotationOf } from './rotary.js';
import type { Rotation } from './rotary.js';
import { withAppended } from './merged-slots.js';
import { appendedSlots } from './schedule.js';
import type { GivenState } from './read-state.js';
import { ReadState } from './read-state.js';
import type { Folded, Slots } from './state.js';
import { pickGroups, sliceSlots } from './state.js';
import type { WindowBlock } from './window.js';
import { Window } from './window.js';

export interface SessionOptions {
  readonly schedule: Schedule;
  /** Default: the model's (D0). */
  readonly readDistance?: number;
  readonly given?: GivenState;
  /** Sees the un-rotated tokens of each chunk that leaves the window, whatever the schedule keeps of them. */
  readonly onLeaving?: (tokens: Slots) => Promise<void>;
  /** Default: the model's (W). */
  readonly windowChunks?: number;
  /** Chunks that the window may hold beyond those while less than a chunk comes at once, so that folds are put off. Default 0. */
  readonly spareChunks?: number;
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
  private readonly givenSlots: number;
  private tokensSeen = 0;
  private readonly readDistance: number;
  private carried: Carried | undefined;

  private constructor(
    private readonly model: Model,
    private readonly options: SessionOptions,
    private state: ReadState,
  ) {
    const { architecture, kvm } = model.manifest;
    this.window = new Window(
      architecture,
      kvm.chunk,
      options.windowChunks ?? kvm.windowChunks,
      kvm.trained !== undefined,
    );
    this.carried = architecture.carried && new Carried(architecture);
    this.givenSlots = options.given?.slots.slots ?? 0;
    this.readDistance = options.readDistance ?? kvm.readDistance;
  }

  static async start(model: Model, options: SessionOptions): Promise<KvmSession> {
    const fitted = fittedReading(model, options.schedule, options.readDistance ?? model.manifest.kvm.readDistance);
    return new KvmSession(model, options, await ReadState.start(model, options.given, fitted));
  }

  /**
   * A session that has read the same and goes on by itself, so that one reading serves several questions. Costs a copy of
   * one window block; state and full blocks are shared. `onLeaving` hears what leaves either.
   */
  fork(): KvmSession {
    const copy = new KvmSession(this.model, this.options, this.state);
    copy.window = this.window.fork();
    copy.carried = this.carried?.fork();
    copy.tokensSeen = this.tokensSeen;
    return copy;
  }

  get tokens(): number {
    return this.tokensSeen;
  }

  /** Of a state that is one part: all layers have as many. */
  get slots(): Slots {
    const [part, ...others] = this.state.parts;
    if (!part || others.length > 0) throw new Error('Layers have different numbers of slots.');
    return part.slots;
  }

  /** Slots of all groups together. */
  get slotsHeld(): number {
    return this.state.parts.reduce((sum, { slots }) => sum + slots.groups * slots.slots, 0);
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
    const n = ids.length;
    const { chunk, trained } = this.model.manifest.kvm;
    for (const leaving of this.window.roll(n < chunk ? this.options.spareChunks : 0)) await this.leave(leaving);
    if (n === 0 || n > this.window.room) throw new Error(`A pass takes 1 to ${this.window.room} tokens, not ${n}.`);
    const role = this.model.roleOf(n);
    const graph = this.model.graphOf(role);
    const rotation = rotationOf(this.model.manifest.architecture.frequencies, this.tokensSeen, n);
    const outputs: string[] = [FORWARD.newKeys, FORWARD.newValues];
    if (options.logitRows.length > 0) outputs.push(FORWARD.logits);
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
      logits: result[FORWARD.logits] ? floatData(result[FORWARD.logits]!) : new Float32Array(0),
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
    const parts = new Map<number, Tensor>();
    for (const [i, { rows, keys, values, bias }] of this.state.layers.entries()) {
      if (role === 'decode') {
        const own = parts.get(rows) ?? integers([rows, this.window.pastRows, this.window.blockRows, n]);
        parts.set(rows, own);
        feeds[FORWARD.parts(i)] = own;
      }
      feeds[FORWARD.stateKey(i)] = keys;
      feeds[FORWARD.stateValue(i)] = values;
      feeds[FORWARD.stateBias(i)] = bias;
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
    const drops = this.state.parts.every(part => this.isComplete(part));
    if (drops && !this.options.onLeaving) return;
    const rotation = rotationOf(architecture.frequencies, block.firstPosition, kvm.chunk);
    const { folder } = this.model;
    const tokens = await folder.tokensOf(block, rotation, groupsOf(architecture), architecture.headSize);
    await this.options.onLeaving?.(tokens);
    if (drops) return;
    const left = block.firstPosition + kvm.chunk;
    const folds: (Folded<Slots> | undefined)[] = [];
    for (const part of this.state.parts) {
      const done = this.isComplete(part);
      folds.push(
        done ? undefined : await this.folded(part, pickGroups(tokens, groupsOfLayers(architecture, part.layers)), left),
      );
    }
    this.state = await this.state.after(folds);
  }

  /** Whether nothing more that leaves the window goes into it. */
  private isComplete(part: StatePart): boolean {
    return scheduleOf(this.options.schedule, part).kind === 'windowOnly' && part.slots.slots > 0;
  }

  /** `left`: tokens that have left the window, these included. */
  private async folded(part: StatePart, tokens: Slots, left: number): Promise<Folded<Slots>> {
    const { chunk, sinks } = this.model.manifest.kvm;
    const { folder } = this.model;
    const { slots, share } = part;
    const schedule = scheduleOf(this.options.schedule, part);
    const own = slots.slots - this.givenSlots;
    if (schedule.kind === 'windowOnly') return withAppended(slots, folder.firstSlots(sliceSlots(tokens, 0, sinks)));
    if (own === 0) return withAppended(slots, folder.firstSlots(tokens));
    const at = { tokens: this.tokensSeen, left, slots: own, chunk, share };
    const protectedSlots = this.givenSlots > 0 ? this.givenSlots : sinks;
    return await folder.fold(slots, tokens, { novel: appendedSlots(schedule, at) }, protectedSlots);
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
