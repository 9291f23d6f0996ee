/** Door of the walk: which files of a workspace are read, in which order, and their text. Nothing here knows the engine. */
export { walkWorkspace } from './walk.js';
export type { WalkOptions } from './walk.js';
export { MOST_FILE_BYTES, readBytes, readText } from './read-text.js';
export type { ReadBytes, ReadOptions, ReadText } from './read-text.js';
export { holdsPrivateKey } from './secret-files.js';
export { orderForReading } from './reading-order.js';
export type { OrderOptions } from './reading-order.js';
export type { SkipReason, Verdict, WalkedFile } from './skip.js';
