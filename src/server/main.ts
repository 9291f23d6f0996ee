/** Entry of the server process: LSP's base protocol over stdin and stdout. Everything it does is in serve.ts. */
import { createConnection, ProposedFeatures } from 'vscode-languageserver/node';
import { openLiveBackend } from './live-backend.js';
import { serve } from './serve.js';

// Before anything loads onnxruntime, here or in a child.
process.env['ORT_DISABLE_TELEMETRY'] = '1';

serve(createConnection(ProposedFeatures.all, process.stdin, process.stdout), openLiveBackend, {
  name: 'longview',
  version: process.env['npm_package_version'] ?? '',
});
