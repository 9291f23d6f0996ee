// BM25 over spans as a plain peer: words split at case and underscores, k1 1.2, b 0.75, no stop words, no stems; the protocol
// of the design's first measurements. Apart from the product's own lexical score on purpose.
const K1 = 1.2;
const B = 0.75;

export function words(text) {
  const spaced = text.replace(/([a-z])([A-Z])/g, '$1 $2').replaceAll('_', ' ');
  return (spaced.match(/[A-Za-z]+/g) ?? []).map(word => word.toLowerCase());
}

/** Gives a function: question → float64 [spans]. */
export function wordScorer(texts) {
  const documents = texts.map(text => {
    const counts = new Map();
    for (const word of words(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
    return { counts, length: [...counts.values()].reduce((sum, n) => sum + n, 0) };
  });
  const having = new Map();
  for (const { counts } of documents) for (const word of counts.keys()) having.set(word, (having.get(word) ?? 0) + 1);
  const mean = documents.reduce((sum, { length }) => sum + length, 0) / Math.max(1, documents.length) || 1;
  return question => {
    const asked = words(question);
    return Float64Array.from(documents, ({ counts, length }) => {
      let score = 0;
      for (const word of asked) {
        const n = counts.get(word);
        if (n === undefined) continue;
        const rarity = Math.log(1 + (documents.length - having.get(word) + 0.5) / (having.get(word) + 0.5));
        score += (rarity * n * (K1 + 1)) / (n + K1 * (1 - B + (B * length) / mean));
      }
      return score;
    });
  };
}
