// What the model has to foretell: the body of a function, a doc comment's first sentence, a sentence of the documentation. Doc
// comments and documentation are in no memory (`recall/texts` takes them out); a body is in its own file's, so that is left out.
import { shuffled } from '../recall/figures.mjs';
import { proseText } from '../recall/texts.mjs';
import { sentencesOf } from '../recall/prose-questions.mjs';

const LEAST_BODY_LINES = 4;
const LINES_BEFORE = 8;
const LEAST_CHARACTERS = 60;

/** [{kind, path, context, target, query, own?}]: `own` is the file whose memory holds the target. */
export function targetsOf({ files, prose }, { targets, seed }) {
  const kinds = { code: bodies(files), doc: docs(files), prose: prose.flatMap(sentences) };
  const wanted = { code: Math.ceil(targets / 2), doc: Math.ceil(targets / 4), prose: Math.ceil(targets / 4) };
  return Object.entries(kinds).flatMap(([kind, all]) => {
    const chosen = shuffled(all, seed).slice(0, wanted[kind]);
    return chosen.map(target => ({ kind, ...target }));
  });
}

function bodies(files) {
  return files.flatMap(({ path, lines, functions }) =>
    functions
      .filter(({ startLine, endLine }) => endLine - startLine >= LEAST_BODY_LINES)
      .map(({ startLine, endLine }) => {
        const context = lines.slice(Math.max(0, startLine - 1 - LINES_BEFORE), startLine).join('\n');
        return { path, own: path, context, target: `\n${lines.slice(startLine, endLine).join('\n')}`, query: context };
      }),
  );
}

function docs(files) {
  return files.flatMap(({ path, lines, functions, questions }) =>
    questions.map(({ function: at, sentence }) => {
      const head = lines[functions[at].startLine - 1];
      const mark = path.endsWith('.py') ? '#' : '//';
      return { path, context: `${head}\n${mark}`, target: ` ${sentence}`, query: head };
    }),
  );
}

function sentences(path) {
  const all = sentencesOf(proseText(path));
  const name = path.split('/').at(-1).replace(/\.gz$/, '');
  return all.flatMap((target, at) => {
    const context = all.slice(Math.max(0, at - 2), at).join(' ');
    if (target.length < LEAST_CHARACTERS || context === '') return [];
    return [{ path: name, context, target: ` ${target}`, query: context }];
  });
}
