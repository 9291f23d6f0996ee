/**
 * Text → pieces that merges never cross, as a byte-level `tokenizer.json` asks for. Pieces laid end to end are the text.
 * The package's own Digits and ByteLevel splitters use JavaScript's `\d` and `\s`, which differ from Hugging Face's
 * (numbers like ½, the byte order mark, U+0085), so both are written here as the `Split` they stand for.
 */
import { LongviewError, quoted } from '../base/index.js';
import { translatePattern } from './tokenizer-package.js';

/** What GPT-2's ByteLevel splits by. */
const GPT2 = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

/** Characters looked at together; a longer stretch is cut, so no line is too long. */
const STRETCH = 16_384;

/** The rules of a `pre_tokenizer`, in order. Throws `unsupported` for one that is not byte-level or loses text. */
export function splittingRules(preTokenizer: unknown): readonly RegExp[] {
  const rules: RegExp[] = [];
  let byteLevel = false;
  const add = (regex: string) => rules.push(compile(regex));
  for (const step of stepsOf(preTokenizer)) {
    switch (step['type']) {
      case 'ByteLevel':
        if (step['add_prefix_space'] === true) throw unsupported('ByteLevel with add_prefix_space');
        if (step['use_regex'] !== false) add(GPT2);
        byteLevel = true;
        break;
      case 'Digits':
        add(step['individual_digits'] === true ? '\\p{N}|\\P{N}+' : '\\p{N}+|\\P{N}+');
        break;
      case 'Split': {
        const regex = (step['pattern'] as { Regex?: unknown } | undefined)?.Regex;
        if (typeof regex !== 'string' || step['behavior'] !== 'Isolated' || step['invert'] === true) {
          throw unsupported('a Split other than by an isolated Regex');
        }
        add(regex);
        break;
      }
      default:
        throw unsupported(`pre-tokenizer ${quoted(step['type'])}`);
    }
  }
  if (!byteLevel) throw unsupported('a tokenizer that is not byte-level');
  return rules;
}

/** Real files nest once. */
const DEEPEST = 8;

function stepsOf(preTokenizer: unknown, depth = 0): readonly Record<string, unknown>[] {
  if (typeof preTokenizer !== 'object' || preTokenizer === null) throw unsupported('a tokenizer without pre-tokenizer');
  const step = preTokenizer as Record<string, unknown>;
  if (step['type'] !== 'Sequence') return [step];
  if (!Array.isArray(step['pretokenizers'])) throw unsupported('a Sequence without pretokenizers');
  if (depth === DEEPEST) throw unsupported('a Sequence nested so deeply');
  return step['pretokenizers'].flatMap(inner => stepsOf(inner, depth + 1));
}

function unsupported(what: string): LongviewError {
  return new LongviewError('unsupported', `tokenizer.json: ${what} is not supported.`);
}

function compile(regex: string): RegExp {
  try {
    return translatePattern(regex);
  } catch (error) {
    throw new LongviewError('unsupported', `tokenizer.json: cannot use the pattern ${quoted(regex)}.`, {
      cause: error,
    });
  }
}

/** Pieces of `text` in order; their lengths add up to the text's. */
export function* piecesOf(text: string, rules: readonly RegExp[]): Generator<string> {
  for (let from = 0; from < text.length;) {
    const to = endOfStretch(text, from);
    let pieces = [text.slice(from, to)];
    for (const rule of rules) pieces = pieces.flatMap(piece => isolate(piece, rule));
    yield* pieces;
    from = to;
  }
}

/** Matches and what lies between them. */
function isolate(text: string, rule: RegExp): string[] {
  const matches = text.match(rule) ?? [];
  let covered = 0;
  for (const match of matches) covered += match.length;
  if (covered === text.length) return matches.filter(match => match.length > 0);
  const pieces: string[] = [];
  let done = 0;
  for (const match of text.matchAll(rule)) {
    if (match[0].length === 0) continue;
    if (match.index > done) pieces.push(text.slice(done, match.index));
    pieces.push(match[0]);
    done = match.index + match[0].length;
  }
  if (done < text.length) pieces.push(text.slice(done));
  return pieces;
}

/**
 * Where a stretch that begins at `from` may end. Between a letter or number and white space is exact: no rule of GPT-2,
 * Llama 3 or Qwen matches across. Only where 16,384 characters hold no such place is a piece cut that Hugging Face
 * would keep whole.
 */
function endOfStretch(text: string, from: number): number {
  if (text.length - from <= STRETCH) return text.length;
  for (let at = from + STRETCH; at > from; at--) {
    const code = text.charCodeAt(at);
    if ((code === 32 || (code >= 9 && code <= 13)) && /[\p{L}\p{N}]/u.test(text.charAt(at - 1))) return at;
  }
  const end = from + STRETCH;
  const code = text.charCodeAt(end);
  return code >= 0xdc00 && code < 0xe000 ? end - 1 : end;
}
