/**
 * A log is a function that takes a level and a line. Never writes by itself: the process that owns a surface
 * (stderr, an output channel) supplies the sink.
 */

export type LogLevel = 'error' | 'warning' | 'info' | 'debug';

export type Log = (level: LogLevel, message: string) => void;

/** Drops everything. */
export const silentLog: Log = () => undefined;
