// The doc comments' questions of one repository asked again in several small memories, each of some of its files: what the size
// of the repository itself costs. Nothing is read again.
import { openMemory } from './longview.mjs';
import { rankedTask } from './ranking.mjs';
import { pooled } from './report.mjs';
import { shuffled } from './figures.mjs';

/** A task's files in groups of about so many characters, seeded, each a task of the questions that its functions answer. */
export function dividedTask(task, characters, seed) {
  const firstOf = [];
  task.files.reduce((first, { spans }, at) => ((firstOf[at] = first), first + spans.length), 0);
  const groups = [[]];
  let size = 0;
  for (const at of shuffled([...task.files.keys()], seed)) {
    const own = task.files[at].lines.join('\n').length;
    if (size > 0 && size + own > characters) {
      groups.push([]);
      size = 0;
    }
    groups.at(-1).push(at);
    size += own;
  }
  return groups.map(group => {
    const placeOf = new Map();
    for (const at of group) task.files[at].spans.forEach((_, i) => placeOf.set(firstOf[at] + i, placeOf.size));
    // One that several functions answer is asked where the first of them is, so that the questions are the same.
    const questions = task.questions
      .filter(({ right: [first] }) => placeOf.has(first))
      .map(({ text, right }) => ({ text, right: right.filter(at => placeOf.has(at)).map(at => placeOf.get(at)) }));
    return { ...task, files: group.map(at => task.files[at]), questions };
  });
}

/** `read`: {root, data}, read at `tokensPerSlot`. Gives `{memories, questions, spans, ranks}` of all together. */
export async function ranksInSeveralMemories(engine, encoder, { task, read, tokensPerSlot }, characters, seed) {
  const all = [];
  const parts = dividedTask(task, characters, seed).filter(({ questions }) => questions.length > 0);
  for (const part of parts) {
    const paths = new Set(part.files.map(({ path }) => path));
    const memory = await openMemory(engine, [read], path => paths.has(path));
    try {
      all.push(await rankedTask(part, encoder, [{ name: ` 1:${tokensPerSlot}`, scorer: memory.scorer(part) }]));
    } finally {
      await memory.dispose();
    }
  }
  return {
    memories: parts.length,
    questions: parts.flatMap(({ questions }) => questions),
    spans: parts.reduce((sum, { files }) => sum + files.reduce((own, { spans }) => own + spans.length, 0), 0),
    ranks: pooled(all),
  };
}
