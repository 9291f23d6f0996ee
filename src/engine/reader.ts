/**
 * Reads one text from a fresh state: fixed prefix, then chunk by chunk; gives its gist and its recall slots (memory.md).
 * What it gives depends on label, text, model and request alone.
 */
import { LongviewError, throwIfCancelled } from '../base/index.js';
import { Compressor, RecallMerger } from './compress.js';
import type { CallOptions, ReadRequest, Schedule } from './engine.js';
import { groupsOf } from './graph-contract.js';
import { linesOfTokens } from './lines.js';
import type { Model } from './model.js';
import { packRecall, packSlots } from './packing.js';
import type { RecallHeads } from './recall-heads.js';
import { rotationOf } from './rotary.js';
import type { Pass } from './session.js';
import { KvmSession } from './session.js';
import type { Reading } from './slots.js';
import type { KeySlots, Slots } from './state.js';
import { emptySlots, sliceSlots } from './state.js';
import type { TextTokenizer } from './tokenizer.js';

/**
 * An ordinary checkpoint reads a text through window and sinks alone: what leaves the window goes into the gist, which later
 * readers attend to. The recall heads were fitted on keys read so; reading through a growing state cost recall and time
 * (docs/measurements). A model trained with KVM reads through its state, as it was trained.
 */
function readingSchedule({ manifest }: Model): Schedule {
  return manifest.kvm.trained?.schedule ?? { kind: 'windowOnly' };
}

const NO_SLOT = 0xffffffff;
const LABEL = '{label}';

/** Slots of a gist: clamp(sqrt(T)/2, 16, 256) (memory.md). */
export function gistSlotsFor(tokens: number): number {
  return Math.min(256, Math.max(16, Math.floor(Math.sqrt(tokens) / 2)));
}

/** The fixed part of the prefix before its label: every text's first tokens, the shared sinks among them. */
export function prefixStart(model: Model, tokenizer: TextTokenizer): number[] {
  const { prefix, sinks } = model.manifest.kvm;
  const [before = ''] = prefix.split(LABEL);
  const ids = [...tokenizer.encode(before, { special: true }).ids];
  if (ids.length < sinks) {
    throw new LongviewError('bad-format', `The model's prefix "${before}" has fewer than ${sinks} tokens.`);
  }
  return ids;
}

/** The first tokens of every text as slots of weight 1, from one reading. */
export async function readSinks(model: Model, tokenizer: TextTokenizer): Promise<Slots> {
  const { architecture, kvm } = model.manifest;
  if (kvm.sinks === 0) return emptySlots(groupsOf(architecture), architecture.headSize);
  const ids = prefixStart(model, tokenizer).slice(0, kvm.sinks);
  const session = await KvmSession.start(model, { schedule: readingSchedule(model) });
  await session.pass(ids, { logitRows: [] });
  const [tokens] = await windowTokens(model, session);
  return model.folder.firstSlots(tokens!);
}

export async function readText(
  model: Model,
  tokenizer: TextTokenizer,
  heads: Pick<RecallHeads, 'keyHeads'>,
  request: ReadRequest,
  options: CallOptions = {},
): Promise<Reading> {
  const { kvm, architecture } = model.manifest;
  const [, after = ''] = kvm.prefix.split(LABEL);
  const prefix = [...prefixStart(model, tokenizer), ...tokenizer.encode(request.label + after).ids];
  const encoded = tokenizer.encode(request.text);
  const ids = [...prefix, ...encoded.ids];
  const lineOfToken = new Uint32Array(ids.length);
  lineOfToken.set(linesOfTokens(request.text, encoded.ends), prefix.length);

  const gistSlots = request.gistSlots ?? gistSlotsFor(ids.length);
  const gist = gistSlots > 0 ? new GistBuilder(model, ids.length, gistSlots) : undefined;
  const session = await KvmSession.start(gist ? model : await model.lower(), {
    schedule: readingSchedule(model),
    windowChunks: kvm.readingWindowChunks,
    ...(gist && { onLeaving: tokens => gist.add(tokens) }),
  });
  const merger = new RecallMerger(
    model.folder,
    heads.keyHeads.length,
    architecture.headSize,
    request.tokensPerRecallSlot,
  );
  for (let first = 0; first < ids.length;) {
    await options.giveWay?.();
    throwIfCancelled(options.signal);
    const count = Math.min(session.room, ids.length - first);
    const pass = await session.pass(ids.slice(first, first + count), { logitRows: [] });
    const skip = Math.max(0, kvm.sinks - first);
    const keys = await recallKeys(model, heads, pass, Math.min(skip, count));
    if (keys.slots > 0) await merger.add(keys);
    first += count;
    options.onProgress?.(first);
  }
  throwIfCancelled(options.signal);
  return {
    tokens: ids.length,
    gist: packSlots(
      gist
        ? await gist.finish(await windowTokens(model, session))
        : emptySlots(groupsOf(architecture), architecture.headSize),
    ),
    recall: packRecall(merger.slots),
    lineOfToken,
    slotOfToken: withoutSinks(merger.slotOfToken(), heads.keyHeads.length, ids.length, kvm.sinks),
  };
}

/** Un-rotated keys of the recall key heads, the first `skip` tokens left out. */
async function recallKeys(
  model: Model,
  heads: Pick<RecallHeads, 'keyHeads'>,
  pass: Pass,
  skip: number,
): Promise<KeySlots> {
  const { headSize, frequencies, keyHeads } = model.manifest.architecture;
  const groups = heads.keyHeads.length;
  const n = pass.rotation.rows - skip;
  const rotated = new Float32Array(groups * n * headSize);
  heads.keyHeads.forEach(({ layer, head }, group) => {
    const start = ((layer * keyHeads + head) * pass.rotation.rows + skip) * headSize;
    rotated.set(pass.keys.subarray(start, start + n * headSize), group * n * headSize);
  });
  if (n === 0 || groups === 0) return { groups, slots: 0, headSize, keySum: rotated, count: new Float32Array(0) };
  const rotation = rotationOf(frequencies, pass.firstPosition + skip, n);
  // Keys stand in for values: recall has none.
  return model.folder.tokensOf({ keys: rotated, values: rotated }, rotation, groups, headSize);
}

/** Window blocks as un-rotated tokens, oldest first. */
async function windowTokens(model: Model, session: KvmSession): Promise<Slots[]> {
  const { architecture } = model.manifest;
  const { headSize, frequencies } = architecture;
  const groups = groupsOf(architecture);
  const tokens: Slots[] = [];
  for (const block of session.windowBlocks()) {
    const rows = block.keys.length / groups / headSize;
    const rotation = rotationOf(frequencies, block.firstPosition, rows);
    tokens.push(await model.folder.tokensOf(block, rotation, groups, headSize));
  }
  return tokens;
}

/** Tokens, in order, grown evenly into one small state of all layers; the sinks left out. */
class GistBuilder {
  private readonly compressor: Compressor;
  private skip: number;

  constructor(
    private readonly model: Model,
    tokens: number,
    slots: number,
  ) {
    this.skip = model.manifest.kvm.sinks;
    const total = Math.max(0, tokens - this.skip);
    this.compressor = new Compressor(model.folder, Math.min(slots, total), total);
  }

  async add(tokens: Slots): Promise<void> {
    const from = Math.min(this.skip, tokens.slots);
    this.skip -= from;
    if (from < tokens.slots) await this.compressor.add(from > 0 ? sliceSlots(tokens, from, tokens.slots) : tokens);
  }

  async finish(rest: readonly Slots[]): Promise<Slots> {
    for (const tokens of rest) await this.add(tokens);
    const { architecture } = this.model.manifest;
    return (await this.compressor.finish()) ?? emptySlots(groupsOf(architecture), architecture.headSize);
  }
}

/** slotOf uint32 [K,T-m] → [K,T] with the sinks marked as in no slot. */
function withoutSinks(slotOf: Uint32Array, heads: number, tokens: number, sinks: number): Uint32Array {
  const all = new Uint32Array(heads * tokens).fill(NO_SLOT);
  const run = Math.max(0, tokens - sinks);
  for (let head = 0; head < heads; head++) {
    all.set(slotOf.subarray(head * run, (head + 1) * run), head * tokens + tokens - run);
  }
  return all;
}
