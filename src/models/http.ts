/**
 * One GET over HTTPS, redirects followed: through the proxy that the environment names, with short patience for a host
 * that does not answer. Node's own client, since undici 6 ends the process where a paused transfer is cut off.
 * Never speaks plain HTTP, except to a proxy, and to 127.0.0.1 where a test allows it.
 */
import http from 'node:http';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';
import tls from 'node:tls';
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
  /** Goes to this origin alone, wherever a redirect leads. */
  readonly bearer?: { readonly origin: string; readonly token: string };
}

export interface HttpAnswer {
  readonly status: number;
  /** Of a header by its lower-case name. */
  header(name: string): string | undefined;
  /** Ends with an error where the connection breaks off. Destroy it where it is not read to its end. */
  readonly body: IncomingMessage;
  /** Host that answered in the end, for messages. */
  readonly host: string;
}

const MAX_REDIRECTS = 6;

/** Throws `network` where no answer comes, `cancelled`, or `unsupported` for an address that is not HTTPS. */
export async function get(url: string, headers: Record<string, string>, options: HttpOptions): Promise<HttpAnswer> {
  let address = new URL(url);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    refusePlain(address, options);
    let body: IncomingMessage;
    try {
      body = await ask(address, headers, options);
    } catch (error) {
      throw networkError(error, address.host, options.signal);
    }
    const { location } = body.headers;
    const status = body.statusCode ?? 0;
    if (![301, 302, 303, 307, 308].includes(status) || location === undefined) {
      const header = (name: string) => [body.headers[name]].flat()[0];
      return { status, header, body, host: address.host };
    }
    body.destroy();
    try {
      address = new URL(location, address);
    } catch (cause) {
      throw new LongviewError('network', `${address.host} redirects to what is no address.`, { cause });
    }
  }
  throw new LongviewError('network', `${new URL(url).host} sent more than ${MAX_REDIRECTS} redirects.`);
}

/** `cancelled` where the signal says so, else `network`, naming the host and the system's reason. */
export function networkError(error: unknown, host: string, signal: AbortSignal | undefined): LongviewError {
  if (error instanceof LongviewError) return error;
  if (signal?.aborted) return new LongviewError('cancelled', 'Cancelled.', { cause: error });
  const { code, message } = error as { code?: string; message?: string };
  return new LongviewError('network', `No answer from ${host} (${code ?? message ?? 'unknown'}).`, { cause: error });
}

function isLoopback(address: URL, options: HttpOptions): boolean {
  return options.allowLoopback === true && address.protocol === 'http:' && address.hostname === '127.0.0.1';
}

function refusePlain(address: URL, options: HttpOptions): void {
  if (address.protocol === 'https:' || isLoopback(address, options)) return;
  throw new LongviewError('unsupported', `${address.origin} is not HTTPS; nothing is downloaded from it.`);
}

async function ask(address: URL, headers: Record<string, string>, options: HttpOptions): Promise<IncomingMessage> {
  const { bearer } = options;
  const settings = {
    agent: false,
    signal: options.signal,
    headers: {
      'user-agent': 'longview',
      'accept-encoding': 'identity',
      ...(bearer?.origin === address.origin && { authorization: `Bearer ${bearer.token}` }),
      ...headers,
    },
  } as const;
  if (isLoopback(address, options)) return answerOf(http.get(address, settings), options);
  const proxy = proxyFor(address, options.env ?? process.env);
  if (proxy === undefined) return answerOf(https.get(address, settings), options);
  const tunnel = await tunnelThrough(new URL(proxy), address, options);
  const secure = tls.connect({ socket: tunnel, servername: address.hostname });
  // Otherwise the tunnel stays open for as long as the proxy likes, and keeps the process alive.
  const hangUp = (): void => {
    secure.destroy();
    tunnel.destroy();
  };
  try {
    const body = await answerOf(https.get(address, { ...settings, createConnection: () => secure }), options);
    return body.once('close', hangUp);
  } catch (error) {
    hangUp();
    throw error;
  }
}

/** Resolves when the answer's head is there. */
function answerOf(request: http.ClientRequest, options: HttpOptions): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    impatient(request, options);
    request.once('error', reject);
    request.once('response', response => {
      // The body's own reader hears of errors; the request's later ones are the same.
      request.on('error', () => undefined);
      resolve(response);
    });
  });
}

/** A plain connection to the target, made by the proxy. */
function tunnelThrough(proxy: URL, address: URL, options: HttpOptions): Promise<Socket> {
  const target = `${address.hostname}:${address.port === '' ? '443' : address.port}`;
  const login = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  const request = (proxy.protocol === 'https:' ? https : http).request({
    host: proxy.hostname,
    port: proxy.port === '' ? (proxy.protocol === 'https:' ? 443 : 80) : proxy.port,
    method: 'CONNECT',
    path: target,
    agent: false,
    signal: options.signal,
    headers: {
      host: target,
      ...(proxy.username && { 'proxy-authorization': `Basic ${Buffer.from(login).toString('base64')}` }),
    },
  });
  return new Promise((resolve, reject) => {
    impatient(request, options);
    request.once('error', reject);
    request.once('response', response => {
      response.destroy();
      reject(new Error(`proxy ${proxy.host} answered ${response.statusCode ?? 0}`));
    });
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) {
        resolve(socket);
        return;
      }
      socket.destroy();
      reject(new Error(`proxy ${proxy.host} answered ${response.statusCode ?? 0}`));
    });
    request.end();
  });
}

/** Ends a request whose connection is not made in time, or on which nothing moves. */
function impatient(request: http.ClientRequest, { connectTimeout = 5000, idleTimeout = 30_000 }: HttpOptions): void {
  const timer = setTimeout(() => request.destroy(new Error('no connection in time')), connectTimeout);
  const made = () => clearTimeout(timer);
  request.once('close', made).once('response', made).once('connect', made);
  request.once('socket', socket => {
    // A socket that is connected already says so no more.
    if (!socket.connecting && !(socket instanceof tls.TLSSocket)) made();
    else socket.once(socket instanceof tls.TLSSocket ? 'secureConnect' : 'connect', made);
  });
  request.setTimeout(idleTimeout, () => request.destroy(new Error('nothing came in time')));
}
