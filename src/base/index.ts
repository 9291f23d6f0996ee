/** Door of `base`: errors with codes, results, log, disposables, progress. No Node built-ins here. */
export { LongviewError, codeOf, failed, messageOf, ok, quoted, throwIfCancelled } from './errors.js';
export type { ErrorCode, Result } from './errors.js';
export { nativeFailure } from './native-library.js';
export { escaped } from './escaped.js';
export { fenced } from './fenced.js';
export { IGNORE_FILES, VERSION_CONTROL, walkedAfterChangeOf } from './changed-path.js';
export { makeFolder } from './make-folder.js';
export { silentLog } from './log.js';
export type { Log, LogLevel } from './log.js';
export { DisposableStack } from './disposable.js';
export type { Disposable } from './disposable.js';
export type { Progress, ProgressListener } from './progress.js';
export { advised, systemReason } from './system-error.js';
export { TimeLeft } from './time-left.js';
