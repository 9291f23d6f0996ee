/**
 * `longview mcp`: the memory for other agents, by the Model Context Protocol over stdin and stdout. Ends when stdin does, or
 * at the first interrupt; the engine is started by the first call that needs it.
 */
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { openLiveBackend } from '../../server/index.js';
import { dataOf, folderOf, type Call, type GlobalFlags } from '../house.js';
import { createMcpServer } from '../mcp/server.js';
import { version } from '../version.js';

export async function runMcp({ surface, signal }: Call, dirs: readonly string[], flags: GlobalFlags): Promise<void> {
  const given = dirs.map(folderOf);
  // Stdout belongs to the protocol, whatever a package may want to say.
  console.log = console.info = console.debug = console.error;
  const { model, threads, provider, ram, disk, state } = flags;
  const options = { data: dataOf(flags), model, threads, provider, ram, disk, state };
  const backend = openLiveBackend(options, surface.log);
  const server = createMcpServer(backend, given, version());
  try {
    const ended = new Promise<void>(resolve => {
      server.server.onclose = resolve;
      for (const event of ['end', 'close', 'error']) process.stdin.once(event, resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
    });
    await server.connect(new StdioServerTransport());
    await ended;
  } finally {
    await server.close();
    await backend.dispose();
  }
}
