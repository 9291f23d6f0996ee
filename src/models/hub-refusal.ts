/**
 * What the hub means when it refuses (401, 403, 404), in one line that says what to do. It tells by `X-Error-Code` and
 * `X-Error-Message`; 401 alone also stands for a repository that is not there, so that private names are not betrayed.
 */
import { LongviewError } from '../base/index.js';
import { bearerOf, hubAddress, hubName } from './hub.js';
import type { NetworkOptions } from './hub.js';
import type { HubId } from './hub-id.js';
import type { HttpAnswer } from './http.js';

type Refusable = Pick<HubId, 'repository' | 'revision'>;

/** Never undefined: an unknown status is told as it is. */
export function refusal(answer: HttpAnswer, id: Refusable, network: NetworkOptions): LongviewError {
  const { status } = answer;
  const { repository, revision } = id;
  const hasToken = bearerOf(network) !== undefined;
  const code = answer.header('x-error-code') ?? '';
  const message = answer.header('x-error-message') ?? '';
  if (hasToken && /invalid credentials/i.test(message)) {
    return new LongviewError(
      'permission',
      `${answer.host} does not accept HF_TOKEN (${status}): renew it, or unset it.`,
    );
  }
  if (code === 'GatedRepo') return gatedError(repository, network);
  if (code === 'RevisionNotFound') {
    return new LongviewError(
      'not-found',
      `${repository} has no revision ${JSON.stringify(revision)} on ${answer.host}.`,
    );
  }
  if (code === 'RepoNotFound' || status === 401 || status === 404) {
    const hint = hasToken ? 'or use a token that may read it' : 'or, if it is private, set HF_TOKEN';
    return new LongviewError(
      status === 401 && code !== 'RepoNotFound' ? 'permission' : 'not-found',
      `${answer.host} has no public model ${repository} (${status}): check the name, ${hint}.`,
    );
  }
  if (status === 403) {
    const hint = hasToken ? 'HF_TOKEN may not read it' : 'accept its terms there and set HF_TOKEN';
    return new LongviewError('permission', `${answer.host} refuses ${repository} (403): ${hint}.`);
  }
  return new LongviewError('network', `${answer.host} answered ${status} about ${repository}; try again later.`);
}

export function gatedError(repository: string, network: NetworkOptions): LongviewError {
  const page = `${hubAddress(network)}/${repository}`;
  const next = bearerOf(network)
    ? `accept its licence at ${page} with the account of HF_TOKEN`
    : `accept its licence at ${page} and set HF_TOKEN to a token of that account`;
  return new LongviewError('permission', `${repository} is gated on ${hubName(network)}: ${next}.`);
}
