/** What one document may cost. */

/** Bytes of the whole process that takes the text out. */
export const MOST_MEMORY = 1_200_000_000;
/** Megabytes of its heap. */
export const MOST_HEAP_MB = 900;
/** Milliseconds without a page done. */
export const MOST_STEP_MS = 30_000;
/** Milliseconds of one document in all. */
export const MOST_MS = 10 * 60_000;
