/** Entry of the server process: LSP's base protocol over stdin and stdout. Everything it does is in serve.ts. */
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { serve, type OpenBackend } from './serve.js';

// Before anything loads onnxruntime, here or in a child.
process.env['ORT_DISABLE_TELEMETRY'] = '1';

// Where a native library cannot be loaded, every request says so; a server that ended would only be started again.
const openBackend = await import('./live-backend.js').then(
  ({ openLiveBackend }): OpenBackend => openLiveBackend,
  (error: unknown): OpenBackend =>
    () => {
      throw error;
    },
);

serve(createConnection(ProposedFeatures.all, process.stdin, process.stdout), openBackend, {
  name: 'longview',
  version: process.env['npm_package_version'] ?? '',
});
