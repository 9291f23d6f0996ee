/**
 * The hub on 127.0.0.1: its model API, its files, the large ones redirected to another server (the CDN) with tags and
 * ranges; and it misbehaves as told. Shapes and header names are those that the hub's own clients read.
 */
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';

export interface Misbehaviour {
  /** Answers with this status and nothing else. */
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Closes the connection after this many bytes of the body. */
  readonly cutAfter?: number;
  /** … once this says so of the bytes sent so far. */
  readonly cutWhen?: (bytes: number) => boolean;
  /** Sends the whole file whatever range is asked for. */
  readonly ignoreRange?: boolean;
  /** Sends this instead of the file, without a length. */
  readonly body?: Buffer;
  /** Never answers. */
  readonly silent?: boolean;
}

export interface Seen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

export interface Repository {
  readonly commit: string;
  readonly files: ReadonlyMap<string, Buffer>;
  /** Which files are large ones, with a SHA-256 and on the CDN; those over 10,000 bytes. */
  readonly isLarge?: (path: string) => boolean;
  /** Tokens that may read it; anyone may where left out. */
  readonly gatedFor?: readonly string[];
  /** Merged over what the API says: licence, lies. */
  readonly says?: Record<string, unknown>;
}

const sha = (kind: string, ...parts: (Buffer | string)[]): string => {
  const hash = createHash(kind);
  for (const part of parts) hash.update(part);
  return hash.digest('hex');
};

export class HubServer {
  /** What the hub was asked; files' content is asked for at `/cdn/NAME`. */
  readonly seen: Seen[] = [];
  /** By file name, or `api`: what the next requests for its content get, in order; then it behaves. */
  readonly next = new Map<string, Misbehaviour[]>();
  /** Files of every repository that is not listed. */
  readonly files = new Map<string, Buffer>();
  readonly repositories = new Map<string, Repository>();
  /** Tokens that the hub knows at all. */
  readonly tokens = new Set<string>();
  /** The tag of every file; another one stands for another version. */
  tag = '"one"';

  private constructor(
    private readonly server: Server,
    private readonly cdn: Server,
    private readonly address: string,
  ) {}

  /** With `tls` it speaks HTTPS, as `localhost`. */
  static async start(tls?: { readonly key: Buffer; readonly cert: Buffer }): Promise<HubServer> {
    const make = (): Server => (tls ? createSecureServer(tls) : createServer());
    const [server, cdn] = [make(), make()];
    for (const each of [server, cdn]) await new Promise<void>(resolve => each.listen(0, '127.0.0.1', resolve));
    const hub = new HubServer(server, cdn, tls ? 'https://localhost' : 'http://127.0.0.1');
    server.on('request', (request, response) => hub.answer(request, response));
    cdn.on('request', (request, response) => hub.content(request, response));
    return hub;
  }

  get url(): string {
    return this.addressOf(this.server);
  }

  async stop(): Promise<void> {
    for (const each of [this.server, this.cdn]) {
      each.closeAllConnections();
      await new Promise(resolve => each.close(resolve));
    }
  }

  /** Requests for the content of a file, redirects not counted. */
  requests(name: string): Seen[] {
    return this.seen.filter(({ path }) => path === `/cdn/${name}`);
  }

  private addressOf(server: Server): string {
    return `${this.address}:${(server.address() as AddressInfo).port}`;
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent((request.url ?? '').split('?')[0]!);
    this.seen.push({ path: request.url ?? '', headers: request.headers });
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1];
    if (token !== undefined && !this.tokens.has(token)) {
      refuse(response, 401, '', 'Invalid credentials in Authorization header');
      return;
    }
    const api = /^\/api\/models\/([^/]+\/[^/]+)\/revision\/(.+)$/.exec(path);
    if (api) {
      this.list(api[1]!, api[2]!, response);
      return;
    }
    const [, repository = '', file = ''] = /^\/([^/]+\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(path) ?? [];
    const { gatedFor, isLarge } = this.repositories.get(repository) ?? {};
    if (gatedFor && !gatedFor.includes(token ?? '')) {
      refuse(response, token === undefined ? 401 : 403, 'GatedRepo', `Access to model ${repository} is restricted.`);
      return;
    }
    const content = this.contentOf(`/cdn/${repository}/${file}`);
    const large = isLarge?.(file) ?? (content?.length ?? 0) > 10_000;
    if (this.repositories.has(repository) && !large) {
      this.send(file.split('/').at(-1)!, content, request, response);
      return;
    }
    const place = this.repositories.has(repository) ? `${repository}/${file}` : path.split('/').at(-1)!;
    response.writeHead(302, { location: `${this.addressOf(this.cdn)}/cdn/${place}` }).end('Found. Redirecting.');
  }

  private list(name: string, revision: string, response: ServerResponse): void {
    const wrong = this.next.get('api')?.shift();
    if (wrong?.silent) return;
    if (wrong) {
      response.writeHead(wrong.status ?? 200, wrong.headers).end(wrong.body ?? 'no');
      return;
    }
    const repository = this.repositories.get(name);
    if (!repository) {
      refuse(response, 401, 'RepoNotFound', 'Repository not found');
      return;
    }
    if (revision !== 'main' && revision !== repository.commit) {
      refuse(response, 404, 'RevisionNotFound', `Invalid rev id: ${revision}`);
      return;
    }
    const isLarge = repository.isLarge ?? (path => repository.files.get(path)!.length > 10_000);
    const siblings = [...repository.files].map(([rfilename, content]) => ({
      rfilename,
      size: content.length,
      blobId: sha('sha1', `blob ${content.length}\0`, content),
      ...(isLarge(rfilename) && {
        lfs: { sha256: sha('sha256', content), size: content.length, pointerSize: 134 },
      }),
    }));
    const body = {
      id: name,
      modelId: name,
      sha: repository.commit,
      private: false,
      disabled: false,
      gated: repository.gatedFor ? 'manual' : false,
      tags: ['license:mit'],
      siblings,
      ...repository.says,
    };
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body));
  }

  /** The CDN's side. */
  private content(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(request.url ?? '');
    const name = path.split('/').at(-1)!;
    this.seen.push({ path: `/cdn/${name}`, headers: request.headers });
    this.send(name, this.contentOf(path), request, response);
  }

  private contentOf(path: string): Buffer | undefined {
    const [, repository = '', file = ''] = /^\/cdn\/([^/]+\/[^/]+)\/(.+)$/.exec(path) ?? [];
    return this.repositories.get(repository)?.files.get(file) ?? this.files.get(path.split('/').at(-1)!);
  }

  private send(name: string, file: Buffer | undefined, request: IncomingMessage, response: ServerResponse): void {
    const wrong = this.next.get(name)?.shift() ?? {};
    if (wrong.silent) return;
    if (wrong.status !== undefined || !file) {
      response.writeHead(wrong.status ?? 404, wrong.headers).end('no');
      return;
    }
    if (wrong.body) {
      response.writeHead(200, { etag: this.tag, ...wrong.headers });
      response.end(wrong.body);
      return;
    }
    const asked = /^bytes=(\d+)-$/.exec(request.headers.range ?? '');
    const isCurrent = request.headers['if-range'] === undefined || request.headers['if-range'] === this.tag;
    const from = asked && isCurrent && !wrong.ignoreRange ? Number(asked[1]) : 0;
    const headers: Record<string, string | number> = { etag: this.tag, 'content-length': file.length - from };
    if (from > 0) headers['content-range'] = `bytes ${from}-${file.length - 1}/${file.length}`;
    response.writeHead(from > 0 ? 206 : 200, { ...headers, ...wrong.headers });
    if (wrong.cutAfter === undefined) response.end(file.subarray(from));
    else {
      response.write(file.subarray(from, from + wrong.cutAfter));
      // Node drops what its reader has not taken when a connection breaks: so the reader takes it first.
      const cut = setInterval(() => {
        if (wrong.cutWhen?.(from + wrong.cutAfter!) === false) return;
        clearInterval(cut);
        response.destroy();
      }, 20);
    }
  }
}

function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const headers = { 'x-error-message': message, ...(code !== '' && { 'x-error-code': code }) };
  response.writeHead(status, headers).end(JSON.stringify({ error: message }));
}
