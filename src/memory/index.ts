/** Door of `memory`. */
export type {
  Coverage,
  FileStatus,
  ReadReport,
  RecalledSpan,
  WorkOptions,
  WorkspaceMemory,
  WorkspaceStatus,
} from './workspace-memory.js';
export { linesOf } from './blocks.js';
export { questionTerms, termsOf } from './lexical.js';
