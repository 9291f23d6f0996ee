/**
 * One GET over HTTPS, redirects followed: through HTTPS_PROXY / NO_PROXY where they are set, with short patience for a
 * host that does not answer. Never speaks plain HTTP, except to 127.0.0.1 where a test allows it.
 */
import { Agent, ProxyAgent, request } from 'undici';
import type { Dispatcher } from 'undici';
import { LongviewError } from '../base/index.js';
import { proxyFor } from './proxy.js';

export interface HttpOptions {
  readonly signal?: AbortSignal;
  /** For tests: allows http://127.0.0.1, never through a proxy. */
  readonly allowLoopback?: boolean;
  /** Milliseconds until the host must have answered a connection; 5,000. */
  readonly connectTimeout?: number;
  /** Milliseconds until the answer begins, and between its parts; 30,000. */
  readonly idleTimeout?: number;
  /** Where proxies are named; the process's environment. */
  readonly env?: NodeJS.ProcessEnv;
}

export interface HttpAnswer {
  readonly status: number;
  /** Lower-case names; the last of repeated ones. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Dispatcher.ResponseData['body'];
  /** Host that answered in the end, for messages. */
  readonly host: string;
}

const MAX_REDIRECTS = 6;

/** Throws `network` where no answer comes, `cancelled`, or `unsupported` for an address that is not HTTPS. */
export async function get(url: string, headers: Record<string, string>, options: HttpOptions): Promise<HttpAnswer> {
  let address = new URL(url);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const dispatcher = dispatcherFor(address, options);
    const answer = await ask(address, headers, dispatcher, options);
    const location = answer.headers['location'];
    if (![301, 302, 303, 307, 308].includes(answer.statusCode) || location === undefined) {
      const flat = Object.entries(answer.headers).map(([name, value]): [string, string] => [
        name.toLowerCase(),
        Array.isArray(value) ? (value.at(-1) ?? '') : (value ?? ''),
      ]);
      return { status: answer.statusCode, headers: new Map(flat), body: answer.body, host: address.host };
    }
    await answer.body.dump({ limit: 65_536 }).catch(() => undefined);
    address = new URL(Array.isArray(location) ? location[0]! : location, address);
  }
  throw new LongviewError('network', `${new URL(url).host} sent more than ${MAX_REDIRECTS} redirects.`);
}

async function ask(
  address: URL,
  headers: Record<string, string>,
  dispatcher: Dispatcher,
  { signal }: HttpOptions,
): Promise<Dispatcher.ResponseData> {
  try {
    return await request(address, {
      dispatcher,
      signal,
      headers: { 'user-agent': 'longview', 'accept-encoding': 'identity', ...headers },
    });
  } catch (error) {
    throw networkError(error, address.host, signal);
  }
}

/** `cancelled` where the signal says so, else `network`, naming the host and the system's reason. */
export function networkError(error: unknown, host: string, signal: AbortSignal | undefined): LongviewError {
  if (error instanceof LongviewError) return error;
  if (signal?.aborted) return new LongviewError('cancelled', 'Cancelled.', { cause: error });
  const { code, message } = error as { code?: string; message?: string };
  return new LongviewError('network', `No answer from ${host} (${code ?? message ?? 'unknown'}).`, { cause: error });
}

function dispatcherFor(address: URL, options: HttpOptions): Dispatcher {
  const loopback = options.allowLoopback === true && address.protocol === 'http:' && address.hostname === '127.0.0.1';
  if (address.protocol !== 'https:' && !loopback) {
    throw new LongviewError('unsupported', `${address.origin} is not HTTPS; nothing is downloaded from it.`);
  }
  const { connectTimeout = 5000, idleTimeout = 30_000 } = options;
  const settings = {
    connect: { timeout: connectTimeout },
    headersTimeout: idleTimeout,
    bodyTimeout: idleTimeout,
    // One request each: the socket goes with its answer.
    keepAliveTimeout: 1,
    pipelining: 0,
  };
  const proxy = loopback ? undefined : proxyFor(address, options.env ?? process.env);
  return proxy === undefined ? new Agent(settings) : new ProxyAgent({ ...settings, uri: proxy });
}
