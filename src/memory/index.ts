/** Door of `memory`. */
export type {
  ChangeReport,
  Coverage,
  FileStatus,
  ReadReport,
  RecalledSpan,
  RefreshOptions,
  WorkOptions,
  WorkspaceMemory,
  WorkspaceStatus,
} from './workspace-memory.js';
export { skippedOf } from './workspace-status.js';
export { forgetGone, hasMemory, openWorkspaceMemory } from './open.js';
export type { OpenOptions } from './open.js';
export { EXPORT_EXTENSION } from './portable/index.js';
export type { ExportReport, ImportReport } from './portable/index.js';
export type { Shard } from './shards.js';
export { budgetsOf, type UserBudgets } from './budget-defaults.js';
export { DEFAULT_SETTINGS } from './settings.js';
export { filesOf } from './source-files.js';
export type { SourceFiles, SourceText } from './source-files.js';
export type { MemorySettings } from './settings.js';
export type { Block } from './block.js';
export { blocksOf, isProse, lineCountOf, linesOf } from './blocks.js';
export { questionTerms, termsOf } from './lexical.js';
export type {
  Definition,
  DefinitionKind,
  DefinitionText,
  Family,
  IndexedDefinition,
  Language,
} from './definitions/index.js';
export type { FoundDefinitions, WorkspaceDefinitions } from './workspace-definitions.js';
