/** The life of one connection: initialize, the handlers, shutdown. Never touches stdout but through the connection. */
import { TextDocumentSyncKind, type Connection, type InitializeResult } from 'vscode-languageserver/node';
import type { Log } from '../base/index.js';
import type { ServerOptions } from '../protocol/index.js';
import type { Backend } from './backend.js';
import { connectionLog, connectionNotice, registerHandlers } from './handlers.js';

/** `notice` is for what the user is to see. */
export type OpenBackend = (options: ServerOptions, log: Log, notice: (message: string) => void) => Backend;

/** Serves until the client says `exit` or goes away. `name` and `version` go into the handshake. */
export function serve(
  connection: Connection,
  openBackend: OpenBackend,
  about: { name: string; version: string },
): void {
  let options: ServerOptions = {};
  let backend: Backend | undefined;
  const log = connectionLog(connection);
  connection.onInitialize((params): InitializeResult => {
    options = (params.initializationOptions as ServerOptions | undefined) ?? {};
    // No document's text is sent: the server reads what is on disk.
    return { capabilities: { textDocumentSync: TextDocumentSyncKind.None }, serverInfo: about };
  });
  connection.onShutdown(async () => {
    await own.dispose();
    await backend?.dispose();
    backend = undefined;
  });
  const open = (): Backend => (backend ??= openBackend(options, log, connectionNotice(connection)));
  const own = registerHandlers(connection, open, log);
  connection.listen();
}
