/** Which hub is spoken to, and as whom: `HF_ENDPOINT` (a mirror), `HF_TOKEN`. Reads no token from any file. */
import { LongviewError } from '../base/index.js';
import type { HttpOptions } from './http.js';

/** For tests: another hub, on this machine; another environment, for pip too. */
export interface NetworkOptions extends Omit<HttpOptions, 'signal' | 'bearer'> {
  readonly hub?: string;
}

export const HUB = 'https://huggingface.co';

/** Address of the hub without a trailing slash. Throws `usage` where `HF_ENDPOINT` is no HTTPS address. */
export function hubAddress({ hub, env = process.env }: NetworkOptions = {}): string {
  if (hub !== undefined) return hub;
  const chosen = env['HF_ENDPOINT'] ?? '';
  if (chosen === '') return HUB;
  try {
    const { protocol, origin, pathname } = new URL(chosen);
    if (protocol === 'https:') return (origin + pathname).replace(/\/+$/, '');
  } catch {
    // Said below.
  }
  throw new LongviewError(
    'usage',
    `HF_ENDPOINT is ${JSON.stringify(chosen)}: it must be an https:// address, or unset.`,
  );
}

/** The hub as it is shown: its host, and the path of a mirror that has one. */
export function hubName(network: NetworkOptions = {}): string {
  return hubAddress(network).replace(/^https?:\/\//, '');
}

/** The user's token, bound to the hub's own origin; undefined where there is none. Throws `usage` for what cannot be one. */
export function bearerOf(network: NetworkOptions = {}): HttpOptions['bearer'] {
  const token = ((network.env ?? process.env)['HF_TOKEN'] ?? '').trim();
  if (token === '') return undefined;
  if (!/^[\x21-\x7e]+$/.test(token)) {
    throw new LongviewError('usage', 'HF_TOKEN holds characters that no token has: set it again, or unset it.');
  }
  return { origin: new URL(hubAddress(network)).origin, token };
}
