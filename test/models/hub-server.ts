/** A server on 127.0.0.1 that behaves like the hub: files under a path, redirected to another, with tags and ranges; and that misbehaves as told. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Misbehaviour {
  /** Answers with this status and nothing else. */
  readonly status?: number;
  readonly headers?: Record<string, string>;
  /** Closes the connection after this many bytes of the body. */
  readonly cutAfter?: number;
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

export class HubServer {
  readonly seen: Seen[] = [];
  /** By file name: what the next requests for its content get, in order; then it behaves. */
  readonly next = new Map<string, Misbehaviour[]>();
  readonly files = new Map<string, Buffer>();
  /** The tag of every file; another one stands for another version. */
  tag = '"one"';

  private constructor(private readonly server: Server) {}

  static async start(): Promise<HubServer> {
    const server = createServer();
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const hub = new HubServer(server);
    server.on('request', (request, response) => hub.answer(request, response));
    return hub;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise(resolve => this.server.close(resolve));
  }

  /** Requests for the content of a file, redirects not counted. */
  requests(name: string): Seen[] {
    return this.seen.filter(({ path }) => path === `/cdn/${name}`);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.seen.push({ path, headers: request.headers });
    const name = path.split('/').at(-1)!;
    if (!path.startsWith('/cdn/')) {
      response.writeHead(302, { location: `/cdn/${name}` }).end('Found. Redirecting.');
      return;
    }
    const wrong = this.next.get(name)?.shift() ?? {};
    const file = this.files.get(name);
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
    else response.write(file.subarray(from, from + wrong.cutAfter), () => setTimeout(() => response.destroy(), 20));
  }
}
