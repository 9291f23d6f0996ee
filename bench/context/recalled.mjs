// The way the product answers: the text is read into a memory as a file, the question recalls passages of it, and the model sees
// those alone. Prompts are otherwise those of the other ways.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../../scripts/set-up.mjs';
import { askOne, clock, promptsOf } from './measure.mjs';

const built = path => import(join(root, 'out/src', path));
const { fitting, unframed } = await built('assist/prompt.js');
const { engineOf } = await built('engine/local-engine.js');
const { KvmSession } = await built('engine/session.js');
const { openWorkspaceMemory } = await built('memory/index.js');

/** Columns of a line: places are lines, and the haystacks of prose have none. */
const COLUMNS = 100;
/** Places recalled, and tokens of them that a prompt shows at most: what `ask` does for a model of this size. */
const PLACES = 6;
const TOKENS = 480;

export async function measureRecalled(model, tokenizer, { text, questions }, onProgress) {
  const folder = mkdtempSync(join(tmpdir(), 'longview-context-'));
  const engine = await engineOf(model);
  mkdirSync(join(folder, 'text'));
  writeFileSync(join(folder, 'text', 'text.txt'), wrapped(text));
  const memory = await openWorkspaceMemory({ root: join(folder, 'text'), data: join(folder, 'data'), engine });
  try {
    const reading = clock();
    const { tokensRead } = await memory.refresh({ state: false, onProgress: ({ done }) => onProgress(done) });
    const read = reading();
    const asking = clock();
    const answers = [];
    for (const question of questions) {
      const spans = await memory.recall(question.question, { limit: PLACES });
      const passages = await shown(spans, question.question, tokenizer);
      const prompts = promptsOf(tokenizer, { text: passages.join('\n\n'), questions: [question] });
      const [one] = prompts.questions;
      const session = await KvmSession.start(model, { schedule: { kind: 'keepEverything' } });
      answers.push(await askOne(model, tokenizer, session, { ...one, ask: [...prompts.shared, ...one.ask] }));
    }
    return { tokens: tokensRead, slots: 0, questions: answers.length, read, asked: asking(), answers };
  } finally {
    await memory.dispose();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** As many as fit, the best one last: next to the question. */
async function shown(spans, question, tokenizer) {
  const passages = [];
  let left = TOKENS;
  for (const span of spans) {
    const passage = await fitting(span, left, unframed, async text => tokenizer.count(text), question);
    if (!passage) continue;
    passages.unshift(passage.text);
    left -= passage.tokens;
  }
  return passages;
}

/** No line longer than `COLUMNS` where its words allow it; lines of code stay as they are. */
function wrapped(text) {
  return text.replace(new RegExp(`(.{1,${COLUMNS}})( |$)`, 'gm'), (_, line, end) => line + (end === ' ' ? '\n' : ''));
}
