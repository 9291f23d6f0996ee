// The doc comments' questions asked again over all repositories as one memory: what a workspace many times larger costs.
import { openMemory } from './longview.mjs';
import { rankedTask } from './ranking.mjs';

/** One task of several repositories': paths begin with the repository's name, spans are numbered through. */
export function joinedTask(tasks) {
  const files = [];
  const bySentence = new Map();
  let first = 0;
  for (const { name, task } of tasks) {
    files.push(...task.files.map(file => ({ ...file, path: `${name}/${file.path}` })));
    for (const { text, right } of task.questions) {
      bySentence.set(text, [...(bySentence.get(text) ?? []), ...right.map(at => first + at)]);
    }
    first += task.files.reduce((total, { spans }) => total + spans.length, 0);
  }
  return {
    name: 'doc comment → function, all repositories as one memory',
    files,
    questions: [...bySentence].map(([text, right]) => ({ text, right })),
  };
}

/** `read`: [{name, task, read: {root, data}}], read at one number of tokens a slot. Gives `{task, ranks}`. */
export async function ranksInOneMemory(engine, encoder, tokensPerSlot, read) {
  const task = joinedTask(read);
  const folders = read.map(({ name, read: { root, data } }) => ({ name, root, data }));
  const memory = await openMemory(engine, folders);
  try {
    const ranks = await rankedTask(task, encoder, [{ name: ` 1:${tokensPerSlot}`, scorer: memory.scorer(task) }]);
    return { task, ranks };
  } finally {
    await memory.dispose();
  }
}
