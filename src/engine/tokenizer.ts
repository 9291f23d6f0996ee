/**
 * Text ⇄ token ids for byte-level BPE vocabularies, with where each token ends in the text, and chat prompts.
 * User text is data: what looks like a control token in it stays text. Reads on: `tokenizer-splitting.ts` (pieces),
 * `tokenizer-merges.ts` (merges), `tokenizer-bytes.ts` (offsets). Never touches tensors.
 */
import { Template } from '@huggingface/jinja';
import { LongviewError, messageOf } from '../base/index.js';
import type { ChatMessage } from './engine.js';
import { BYTE_TO_CHARACTER, ByteWalk, bytesOfToken, normalise, toAlphabet } from './tokenizer-bytes.js';
import { readTokenizerFiles } from './tokenizer-file.js';
import type { TokenizerParts } from './tokenizer-file.js';
import { Merges } from './tokenizer-merges.js';
import { piecesOf, splittingRules } from './tokenizer-splitting.js';

/** T tokens of a text. */
export interface Encoded {
  /** [T]. */
  readonly ids: Int32Array;
  /**
   * [T]: UTF-16 offset in the text where the token ends; never falls. A token that ends inside a character ends at
   * that character's start, so the tokens up to the first with `ends > p` hold the character at p.
   */
  readonly ends: Uint32Array;
}

export interface EncodeOptions {
  /** Whether control tokens written out in the text become control tokens. Default false: the text is data. */
  readonly special?: boolean;
}

export interface ChatOptions {
  /** Whether the prompt ends where the assistant is to write. Default true. */
  readonly addGenerationPrompt?: boolean;
  /** Text the answer starts with; needs `addGenerationPrompt`. */
  readonly answerPrefix?: string;
}

/** Turns ids into text as they come; never gives half a character. */
export interface DecodeStream {
  /** Text that is complete now; may be empty. Control tokens give none. */
  push(id: number): string;
  /** What is left: U+FFFD where the last character stayed incomplete. */
  end(): string;
}

const CACHE_ENTRIES = 65_536;
const CACHED_LENGTH = 64;

export class TextTokenizer {
  readonly bosId: number | undefined;
  readonly eosId: number | undefined;
  readonly padId: number | undefined;
  /** Whether the model expects `bosId` before a text. A chat template writes it itself where it is needed. */
  readonly addsBos: boolean;
  /** Ids of control tokens: never shown. */
  readonly specialIds: ReadonlySet<number>;
  /** One more than the highest id. */
  readonly size: number;
  private readonly merges: Merges;
  /** By byte: its token, or -1 where the vocabulary has none; such bytes are left out. */
  private readonly byteIds: Int32Array;
  /** Pieces that are tokens as a whole, where merges are not asked. */
  private readonly wholes: ReadonlyMap<string, number> | undefined;
  private readonly rules: readonly RegExp[];
  /** By id. */
  private readonly tokens: string[] = [];
  private readonly ids: ReadonlyMap<string, number>;
  /** Any added token, longest first; undefined where there is none. */
  private readonly addedPattern: RegExp | undefined;
  private readonly addedIds: ReadonlyMap<string, number>;
  private readonly cache = new Map<string, readonly number[]>();
  private readonly template: Template | undefined;

  private constructor(private readonly parts: TokenizerParts) {
    this.rules = splittingRules(parts.preTokenizer);
    const controls = new Set(parts.added.filter(token => token.special).map(token => token.content));
    const ids = new Map<string, number>();
    const data = new Map<string, number>();
    const place = (token: string, id: number): void => {
      if ((this.tokens[id] ?? token) === token) this.tokens[id] = token;
      else throw new LongviewError('bad-format', `tokenizer.json: two tokens have the id ${id}; it is damaged.`);
    };
    for (const [token, id] of Object.entries(parts.vocabulary)) {
      place(token, id);
      ids.set(token, id);
      if (!controls.has(token)) data.set(token, id);
    }
    for (const { id, content } of parts.added) {
      place(content, id);
      ids.set(content, id);
    }
    this.ids = ids;
    this.merges = new Merges(parts.merges, token => data.get(token));
    this.byteIds = Int32Array.from(BYTE_TO_CHARACTER, character => data.get(character) ?? -1);
    if (parts.ignoreMerges) this.wholes = data;
    this.size = this.tokens.length;
    this.specialIds = new Set(parts.added.filter(token => token.special).map(token => token.id));
    this.addedIds = new Map(parts.added.map(token => [token.content, token.id]));
    this.addedPattern = anyOf([...this.addedIds.keys()]);
    this.bosId = this.idOf(parts.names.bos_token);
    this.eosId = this.idOf(parts.names.eos_token);
    this.padId = this.idOf(parts.names.pad_token);
    this.addsBos = parts.addsBos && this.bosId !== undefined;
    if (parts.chatTemplate !== undefined) this.template = compileTemplate(parts.chatTemplate);
  }

  /** Takes the parsed files. Throws `bad-format`, or `unsupported` for anything but byte-level BPE. */
  static load(tokenizerJson: unknown, tokenizerConfig: unknown): TextTokenizer {
    return new TextTokenizer(readTokenizerFiles(tokenizerJson, tokenizerConfig));
  }

  get hasChatTemplate(): boolean {
    return this.template !== undefined;
  }

  /** The id of a token of the vocabulary, control tokens included. */
  idOf(token: string | undefined): number | undefined {
    return token === undefined ? undefined : this.ids.get(token);
  }

  /**
   * Time is linear in the text's length. Only where 16,384 characters hold no white space after a letter or number
   * may the ids differ from Hugging Face's, by the tokens at that cut.
   */
  encode(text: string, { special = false }: EncodeOptions = {}): Encoded {
    const out: Growing = { ids: [], ends: [] };
    if (special && this.addedPattern) this.encodeSpecial(text, out);
    else this.encodeData(text, 0, out);
    return { ids: Int32Array.from(out.ids), ends: Uint32Array.from(out.ends) };
  }

  /** Whether a control or other added token is written out in the text. */
  holdsAddedToken(text: string): boolean {
    return this.addedPattern !== undefined && text.search(this.addedPattern) >= 0;
  }

  count(text: string): number {
    return this.encode(text).ids.length;
  }

  /** Text of whole ids; control tokens are left out. */
  decode(ids: Iterable<number>): string {
    const stream = this.decodeStream();
    let text = '';
    for (const id of ids) text += stream.push(id);
    return text + stream.end();
  }

  decodeStream(): DecodeStream {
    const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
    return {
      push: id => {
        const token = this.specialIds.has(id) ? undefined : this.tokens[id];
        return token === undefined ? '' : decoder.decode(bytesOfToken(token), { stream: true });
      },
      end: () => decoder.decode(),
    };
  }

  /** The prompt as text, for showing. Encode chats with `encodeChat`: in this text, content may look like control tokens. */
  applyChatTemplate(messages: readonly ChatMessage[], options: ChatOptions = {}): string {
    const { addGenerationPrompt = true, answerPrefix = '' } = options;
    if (!this.template) throw new LongviewError('unsupported', 'The model has no chat template.');
    try {
      const rendered = this.template.render({
        messages: messages.map(message => ({ ...message })),
        add_generation_prompt: addGenerationPrompt,
        ...this.parts.names,
      });
      return rendered + answerPrefix;
    } catch (error) {
      throw new LongviewError('bad-format', `The model's chat template failed: ${messageOf(error)}.`, { cause: error });
    }
  }

  /**
   * Ids of a chat prompt. The template's control tokens are control tokens, the messages' never: where a message holds
   * one, the template is rendered over marks and the text put in afterwards, unchanged (so without the template's own
   * trimming). Otherwise the ids are those of the rendered text.
   */
  encodeChat(messages: readonly ChatMessage[], options: ChatOptions = {}): Int32Array {
    const { answerPrefix = '' } = options;
    const contents = [...messages.map(message => message.content), answerPrefix];
    if (!this.addedPattern) return this.encode(this.applyChatTemplate(messages, options)).ids;
    if (!contents.some(content => content.search(this.addedPattern!) >= 0)) {
      return this.encode(this.applyChatTemplate(messages, options), { special: true }).ids;
    }
    const marked = this.applyChatTemplate(
      messages.map(({ role }, i) => ({ role, content: markOf(i) })),
      { ...options, answerPrefix: markOf(messages.length) },
    );
    const fill = (text: string) => text.replace(MARK, (_, i: string) => contents[Number(i)] ?? '');
    const out: Growing = { ids: [], ends: [] };
    for (const { text, id } of this.aroundAdded(marked)) {
      if (id === undefined) this.encodeData(fill(text), 0, out);
      else out.ids.push(id);
    }
    return Int32Array.from(out.ids);
  }

  private *aroundAdded(text: string): Generator<{ text: string; start: number; id?: number }> {
    let done = 0;
    for (const match of text.matchAll(this.addedPattern!)) {
      if (match.index > done) yield { text: text.slice(done, match.index), start: done };
      yield { text: match[0], start: match.index, id: this.addedIds.get(match[0])! };
      done = match.index + match[0].length;
    }
    if (done < text.length) yield { text: text.slice(done), start: done };
  }

  private encodeSpecial(text: string, out: Growing): void {
    for (const part of this.aroundAdded(text)) {
      if (part.id === undefined) {
        this.encodeData(part.text, part.start, out);
      } else {
        out.ids.push(part.id);
        out.ends.push(part.start + part.text.length);
      }
    }
  }

  /** Appends the tokens of `text`, which begins at offset `start` of the whole. */
  private encodeData(text: string, start: number, out: Growing): void {
    const normal = this.parts.nfc ? normalise(text) : undefined;
    const source = normal?.text ?? text;
    const walk = new ByteWalk(source);
    let pieceEnd = 0;
    for (const piece of piecesOf(source, this.rules)) {
      pieceEnd += piece.length;
      const ids = this.idsOf(piece);
      for (let i = 0; i < ids.length; i++) {
        const id = ids[i]!;
        walk.advance(this.tokens[id]!.length);
        // Bytes that no token holds belong to the piece's last token.
        if (i === ids.length - 1) walk.jumpTo(pieceEnd);
        out.ids.push(id);
        out.ends.push(start + (normal ? normal.at[walk.unit]! : walk.unit));
      }
      if (ids.length === 0) walk.jumpTo(pieceEnd);
    }
  }

  private idsOf(piece: string): readonly number[] {
    const known = this.cache.get(piece);
    if (known) return known;
    const ids = this.mergedIds(piece);
    if (piece.length <= CACHED_LENGTH) {
      if (this.cache.size >= CACHE_ENTRIES) this.cache.clear();
      this.cache.set(piece, ids);
    }
    return ids;
  }

  private mergedIds(piece: string): readonly number[] {
    const bytes = utf8.encode(piece);
    const whole = this.wholes?.get(toAlphabet(bytes));
    if (whole !== undefined) return [whole];
    const ids: number[] = [];
    for (const byte of bytes) if (this.byteIds[byte]! >= 0) ids.push(this.byteIds[byte]!);
    return this.merges.apply(ids);
  }
}

const utf8 = new TextEncoder();

interface Growing {
  readonly ids: number[];
  readonly ends: number[];
}

const MARK = /\ue000(\d+)\ue001/g;

function markOf(index: number): string {
  return `\ue000${index}\ue001`;
}

/** Matches any of the texts, the longest first; undefined for none. */
function anyOf(texts: readonly string[]): RegExp | undefined {
  if (texts.length === 0) return undefined;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return new RegExp(longestFirst.map(text => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')).join('|'), 'gu');
}

function compileTemplate(source: string): Template {
  try {
    return new Template(source);
  } catch (error) {
    throw new LongviewError('unsupported', `The model's chat template cannot be used: ${messageOf(error)}.`, {
      cause: error,
    });
  }
}
