// Mean loss (nats per token) of a target's tokens after a context, beside the states given. Everything lies in the window.
import { join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';

const built = path => import(join(root, 'out/src/engine', path));
const { giveStates } = await built('given-state.js');
const { prefixStart, readSinks } = await built('reader.js');
const { KvmSession, prefill } = await built('session.js');
const { logProbability } = await built('loss.js');

export const CONTEXT_TOKENS = 64;
export const TARGET_TOKENS = 48;
/** Of all passages. */
export const PASSAGE_TOKENS = 128;

export class Meter {
  /** `kvm`: settings laid over the model's own. */
  constructor(model, tokenizer, sinks, kvm) {
    Object.assign(this, { model, tokenizer, sinks });
    this.kvm = { ...model.manifest.kvm, ...kvm };
    this.tokens = 0;
  }

  static async open(model, tokenizer, kvm) {
    return new Meter(model, tokenizer, await readSinks(model, tokenizer), kvm);
  }

  /** Whether heads weigh a state each in its own way. */
  get isFitted() {
    return this.kvm.stateBiasOfHead !== undefined;
  }

  /** `isFitted`: false has all heads weigh them alike. */
  given(states, isFitted = true) {
    if (states.length === 0) return undefined;
    const { stateBiasOfHead, stateTemperatureOfKeyHead, stateValueScaleOfKeyHead, stateTokens, ...alike } = this.kvm;
    const kvm = isFitted ? this.kvm : alike;
    return giveStates({ ...this.model.manifest, kvm }, this.sinks, states);
  }

  /** The shared sinks and nothing else. */
  givenSinks() {
    return giveStates(this.model.manifest, this.sinks, []);
  }

  async loss({ path, context, target, passages }, { withPassages, given }) {
    const encode = text => [...this.tokenizer.encode(text).ids];
    const shown = withPassages ? this.passageTokens(passages) : [];
    const before = [...encode(`${path}\n`), ...encode(context).slice(-CONTEXT_TOKENS)];
    const wanted = encode(target).slice(0, TARGET_TOKENS);
    const ids = [...prefixStart(this.model, this.tokenizer), ...shown, ...before, ...wanted];
    const from = ids.length - wanted.length;
    const session = await KvmSession.start(this.model, { schedule: { kind: 'keepEverything' }, given });
    const { vocabulary } = this.model.manifest.architecture;
    let sum = 0;
    const rowsOf = (first, count) =>
      Array.from({ length: count }, (_, row) => row).filter(
        row => first + row >= from - 1 && first + row + 1 < ids.length,
      );
    await prefill(
      session,
      ids,
      (first, count) => ({ logitRows: rowsOf(first, count) }),
      ({ logits }, first, count) => {
        rowsOf(first, count).forEach((row, at) => {
          const own = logits.subarray(at * vocabulary, (at + 1) * vocabulary);
          sum -= logProbability(own, ids[first + row + 1]);
        });
      },
    );
    this.tokens += ids.length;
    return sum / wanted.length;
  }

  /** Best last, next to the target's file; each under its path, as files begin. */
  passageTokens(passages) {
    let left = PASSAGE_TOKENS;
    const shown = [];
    for (const { path, text } of passages) {
      const ids = [...this.tokenizer.encode(`${path}\n${text}\n\n# file: `).ids];
      if (ids.length > left && shown.length > 0) break;
      const tail = [...this.tokenizer.encode('\n\n# file: ').ids];
      shown.unshift(ids.length > left ? [...ids.slice(0, left - tail.length), ...tail] : ids);
      left -= ids.length;
    }
    return shown.flat();
  }
}
