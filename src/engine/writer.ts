/**
 * Writes: prefill of a chat prompt in chunks, then token by token, streamed as text. Ends at an end token, a stop text,
 * the limit or a cancellation; a cancelled call gives what was written.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { CallOptions, GenerateRequest, GenerateResult, Schedule } from './engine.js';
import type { Model } from './model.js';
import { Sampler } from './sampling.js';
import type { GivenState } from './read-state.js';
import type { SessionOptions } from './session.js';
import { KvmSession, prefill } from './session.js';
import type { TextTokenizer } from './tokenizer.js';

export interface WriteOptions extends CallOptions {
  readonly onText?: (text: string) => void;
}

/** An ordinary checkpoint merges nothing of a prompt up to this long, and attends to it as it was trained to. */
const UNMERGED_TOKENS = 2048;
/** Of a longer one it grows a state as the paper does by default. */
const GROWING: Schedule = { kind: 'powerLaw', factor: 16, exponent: 0.5 };

/** How a prompt of so many tokens is read and an answer written after it. A model trained with KVM keeps its own way. */
export function writingOptions(
  { manifest: { kvm } }: Model,
  promptTokens: number,
): Pick<SessionOptions, 'schedule' | 'windowChunks' | 'spareChunks'> {
  if (kvm.trained) return { schedule: kvm.trained.schedule };
  if (promptTokens > UNMERGED_TOKENS) return { schedule: GROWING, spareChunks: 1 };
  return {
    schedule: { kind: 'keepEverything' },
    windowChunks: Math.max(kvm.windowChunks, Math.ceil(UNMERGED_TOKENS / kvm.chunk)),
  };
}

export async function write(
  model: Model,
  tokenizer: TextTokenizer,
  request: GenerateRequest,
  given: GivenState | undefined,
  options: WriteOptions = {},
): Promise<GenerateResult> {
  const began = performance.now();
  const answerPrefix = request.answerPrefix ?? '';
  const prompt = promptOf(tokenizer, request.messages, answerPrefix);
  const session = await KvmSession.start(model, { ...writingOptions(model, prompt.length), given });
  const sampler = new Sampler({
    temperature: request.temperature ?? 0,
    topP: request.topP ?? 1,
    repetitionPenalty: request.repetitionPenalty ?? 1,
    seed: request.seed ?? 0,
  });
  const text = new StoppableText(request.stop ?? [], piece => options.onText?.(piece));
  text.add(answerPrefix);

  let logits = new Float32Array(0);
  let stopReason: GenerateResult['stopReason'] = 'length';
  let written = 0;
  let firstTokenMs = 0;
  try {
    await prefill(
      session,
      prompt,
      (first, count) => ({ logitRows: first + count === prompt.length ? [count - 1] : [] }),
      async (pass, first, count) => {
        logits = pass.logits as Float32Array<ArrayBuffer>;
        options.onProgress?.(first + count);
        // A cancellation that has arrived is seen between chunks.
        await nextTurn();
        options.signal?.throwIfAborted();
      },
    );
    const stream = tokenizer.decodeStream();
    while (written < request.maxTokens) {
      const token = sampler.next(logits);
      if (written === 0) firstTokenMs = performance.now() - began;
      written++;
      if (model.manifest.endTokens.includes(token) || token === tokenizer.eosId) {
        stopReason = 'end';
        break;
      }
      if (text.add(stream.push(token))) {
        stopReason = 'stop';
        break;
      }
      await nextTurn();
      options.signal?.throwIfAborted();
      if (written < request.maxTokens)
        logits = (await session.pass([token], { logitRows: [0] })).logits as Float32Array<ArrayBuffer>;
    }
    if (stopReason !== 'stop') text.add(stream.end());
  } catch (error) {
    if (!options.signal?.aborted) throw error;
    stopReason = 'cancelled';
  }
  if (stopReason !== 'stop') text.flush();
  return {
    text: text.given,
    promptTokens: prompt.length,
    writtenTokens: written,
    stopReason,
    firstTokenMs: Math.round(firstTokenMs),
    totalMs: Math.round(performance.now() - began),
  };
}

/** Ids of a prompt. A base model has no chat template: it goes on with the messages as plain text. */
function promptOf(tokenizer: TextTokenizer, messages: GenerateRequest['messages'], answerPrefix: string): number[] {
  if (tokenizer.hasChatTemplate)
    return [...tokenizer.encodeChat(messages, { addGenerationPrompt: true, answerPrefix })];
  const asked = messages.map(({ content }) => content).join('\n\n');
  return [...tokenizer.encode(`${asked}\n\nAnswer:${answerPrefix === '' ? '' : ` ${answerPrefix}`}`).ids];
}

/** Passes text on, but holds back what may still become a stop text. */
export class StoppableText {
  given = '';
  private held = '';

  constructor(
    private readonly stops: readonly string[],
    private readonly onText: (text: string) => void,
  ) {}

  /** Gives true when a stop text came; what was before it has been passed on. */
  add(text: string): boolean {
    this.held += text;
    const stop = this.firstStop();
    if (stop !== undefined) {
      this.pass(stop);
      return true;
    }
    this.pass(this.held.length - this.possibleStop());
    return false;
  }

  /** No stop text will come any more. */
  flush(): void {
    this.pass(this.held.length);
  }

  /** Where the stop text begins that is complete first, so that it does not matter in which pieces the text comes. */
  private firstStop(): number | undefined {
    let [start, end] = [0, Infinity];
    for (const stop of this.stops) {
      const at = this.held.indexOf(stop);
      const after = at + stop.length;
      if (at >= 0 && (after < end || (after === end && at < start))) [start, end] = [at, after];
    }
    return end === Infinity ? undefined : start;
  }

  /** Length of the longest end of what is held that begins a stop text. */
  private possibleStop(): number {
    let longest = 0;
    for (const stop of this.stops) {
      for (let length = Math.min(stop.length - 1, this.held.length); length > longest; length--) {
        if (this.held.endsWith(stop.slice(0, length))) longest = length;
      }
    }
    return longest;
  }

  private pass(length: number): void {
    const text = this.held.slice(0, length);
    this.held = this.held.slice(length);
    if (text === '') return;
    this.given += text;
    this.onText(text);
  }
}
