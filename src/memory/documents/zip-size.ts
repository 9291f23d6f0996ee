/**
 * How large the files in a ZIP archive say they are when unpacked, from its directory alone: what says it unpacks to too
 * much is never unpacked. What lies about it is caught by the limits of the process (`documents-main.ts`).
 */

const END = 0x06054b50;
const ENTRY = 0x02014b50;
/** The end record is 22 bytes and a comment of at most 65,535. */
const END_BYTES = 22;

/** Bytes of all entries whose name is `counted`; undefined where the bytes are no whole archive. */
export function unpackedSize(archive: Buffer, counted: (name: string) => boolean): number | undefined {
  const end = endOf(archive);
  if (end === undefined) return undefined;
  let entries = archive.readUInt16LE(end + 10);
  let at = archive.readUInt32LE(end + 16);
  let sum = 0;
  for (; entries > 0; entries--) {
    if (at + 46 > archive.length || archive.readUInt32LE(at) !== ENTRY) return undefined;
    const nameLength = archive.readUInt16LE(at + 28);
    const name = archive.toString('utf8', at + 46, at + 46 + nameLength);
    // 0xffffffff stands for a size of over 4 GB that is told elsewhere.
    if (counted(name)) sum += archive.readUInt32LE(at + 24);
    at += 46 + nameLength + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32);
  }
  return sum;
}

function endOf(archive: Buffer): number | undefined {
  for (let at = archive.length - END_BYTES; at >= Math.max(0, archive.length - END_BYTES - 0xffff); at--) {
    if (archive.readUInt32LE(at) === END) return at;
  }
  return undefined;
}
