/**
 * What is used of @huggingface/tokenizers, with types: its own declarations import without file extensions, which
 * TypeScript does not resolve for Node. The one importer of that package.
 */
import * as huggingFace from '@huggingface/tokenizers';

interface Parts {
  readonly SplitPreTokenizer: new (config: {
    readonly type: 'Split';
    readonly pattern: { readonly Regex: string };
    readonly behavior: 'Isolated';
    readonly invert: false;
  }) => { readonly pattern: RegExp | null };
}

const parts = huggingFace as unknown as Parts;

/** An Oniguruma pattern of a `tokenizer.json` as JavaScript's; throws where it has no equivalent. */
export function translatePattern(regex: string): RegExp {
  const split = new parts.SplitPreTokenizer({
    type: 'Split',
    pattern: { Regex: regex },
    behavior: 'Isolated',
    invert: false,
  });
  if (!split.pattern) throw new Error('no pattern');
  return split.pattern;
}
