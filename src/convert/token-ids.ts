/** The ids that a `tokenizer.json` can give. Looks at numbers only; whether the tokenizer can be used is the engine's to say. */

/** The highest id of its vocabulary and its added tokens; -1 where it names none. */
export function highestTokenId(tokenizerJson: Record<string, unknown>): number {
  let highest = -1;
  const see = (id: unknown): void => {
    if (typeof id === 'number' && id > highest) highest = id;
  };
  const { model, added_tokens: added } = tokenizerJson;
  const vocabulary = (model as { vocab?: unknown } | null | undefined)?.vocab;
  if (Array.isArray(vocabulary)) see(vocabulary.length - 1);
  else if (typeof vocabulary === 'object' && vocabulary !== null) for (const id of Object.values(vocabulary)) see(id);
  if (Array.isArray(added)) for (const token of added) see((token as { id?: unknown } | null)?.id);
  return highest;
}
