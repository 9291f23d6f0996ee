// Doc comment → function: which of all functions of the chosen files does the first sentence of a doc comment describe, the
// comments being gone from the text. Functions whose comments begin with the same sentence are all right; it is asked once.

/** A task. `files`: [{path, lines, spans}], spans numbered through all files; `questions`: [{text, right: spans}]. */
export function docTask({ files }) {
  const bySentence = new Map();
  let first = 0;
  for (const { functions, questions } of files) {
    for (const { function: at, sentence } of questions) {
      bySentence.set(sentence, [...(bySentence.get(sentence) ?? []), first + at]);
    }
    first += functions.length;
  }
  return {
    name: 'doc comment → function',
    isDoc: true,
    files: files.map(({ path, lines, functions }) => ({ path, lines, spans: functions })),
    questions: [...bySentence].map(([text, right]) => ({ text, right })),
  };
}
