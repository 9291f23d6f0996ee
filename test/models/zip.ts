/** Writes zip archives for tests. */
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import yazl from 'yazl';

export async function writeZip(path: string, members: Record<string, Buffer>): Promise<void> {
  const zip = new yazl.ZipFile();
  for (const [name, bytes] of Object.entries(members)) zip.addBuffer(bytes, name);
  zip.end();
  const out = createWriteStream(path);
  zip.outputStream.pipe(out);
  await once(out, 'close');
}
