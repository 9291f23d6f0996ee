/** The process of `runGraphsApart`: runs the graphs of one model once, answers, and waits to be killed. Never writes to stdout. */
import { codeOf, messageOf } from '../../base/index.js';
import { runGraphs } from '../verify.js';
import type { CheckArguments, FromCheck } from './messages.js';

const send = (message: FromCheck): void => {
  if (process.connected) process.send!(message);
};

process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole group; the parent decides when this process ends.
process.on('SIGINT', () => undefined);
process.once('message', ({ folder, draft, prompt }: CheckArguments) => {
  runGraphs(folder, draft, prompt, undefined, progress => send({ kind: 'progress', progress })).then(
    logits => send({ kind: 'logits', logits }),
    (error: unknown) => send({ kind: 'error', code: codeOf(error), message: messageOf(error) }),
  );
});
