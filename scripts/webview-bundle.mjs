// The panel's browser code in one place: scripts/bundle.mjs and the tests in Chromium build the same files.
import { build } from 'esbuild';
import { root } from './set-up.mjs';

export const webviewFiles = ['ask.js', 'growth.js', 'panel.css'];

/** Builds the webviews' scripts and their style sheet into `outdir`. */
export function buildWebviews(outdir) {
  return build({
    absWorkingDir: root,
    entryPoints: { ask: 'src/webview/ask.ts', growth: 'src/webview/growth.ts', panel: 'src/webview/panel.css' },
    outdir,
    bundle: true,
    platform: 'browser',
    format: 'iife',
    target: 'chrome128',
    minify: true,
    logLevel: 'warning',
  });
}
