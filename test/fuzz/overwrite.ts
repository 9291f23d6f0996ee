/**
 * Writes a case's file over the last case's. A file that is emptied and written again is flushed to the disk when it is closed
 * (ext4 does so), which took most of a case's time; one that is written in place and cut to its length is not.
 */
import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';

export function overwrite(path: string, content: Uint8Array | string): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  let file: number;
  try {
    file = openSync(path, 'r+');
  } catch {
    writeFileSync(path, bytes);
    return;
  }
  try {
    for (let done = 0; done < bytes.length;) done += writeSync(file, bytes, done, bytes.length - done, done);
    ftruncateSync(file, bytes.length);
  } finally {
    closeSync(file);
  }
}
