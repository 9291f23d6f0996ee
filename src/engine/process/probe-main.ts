/** The process of `probeApart`: tries one provider with one model, answers, and waits to be killed. Never writes to stdout. */
import { codeOf, messageOf } from '../../base/index.js';
import { probe } from '../provider-probe.js';
import { runBelowNormal } from './below-normal.js';
import type { FromProbe, ProbeArguments } from './messages.js';

const send = (message: FromProbe): void => {
  if (process.connected) process.send!(message);
};

process.on('disconnect', () => process.exit(0));
// Ctrl-C reaches the whole group; the parent decides when this process ends.
process.on('SIGINT', () => undefined);
process.once('message', ({ modelFolder, provider, threads, belowNormal }: ProbeArguments) => {
  if (belowNormal === true) runBelowNormal();
  probe(modelFolder, provider, threads).then(
    report => send({ kind: 'report', report }),
    (error: unknown) => send({ kind: 'error', code: codeOf(error), message: messageOf(error) }),
  );
});
