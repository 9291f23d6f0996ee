/** Door of exports: a workspace's memory as one file, and back. The layout is in `export-file.ts`. */
export { EXPORT_EXTENSION } from './export-file.js';
export { exportMemory, importMemory } from './portable.js';
export type { ImportReport, KnownModel } from './portable.js';
export type { ExportOptions, ExportReport } from './write-export.js';
