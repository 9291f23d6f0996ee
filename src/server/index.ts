/** Door of `server`: what it does without its wire, for the command line's MCP server. */
export { openLiveBackend } from './live-backend.js';
export type { Backend, Summarizer, Work } from './backend.js';
export type { SummaryTarget } from '../protocol/index.js';
