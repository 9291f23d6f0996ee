/**
 * File memories of layout 1, as versions before wrote them: they are read and never written. As `file-memory.ts`, but:
 *
 *   OFFSET  SIZE  DESCRIPTION
 *   0       36    T, G, S, d, K, R, e, P and N
 *   36      4     0
 *   40      32    SHA-256 of the file's bytes
 *   72            path, gist, recall, then provenance as it is in memory: K*(R+1) uint32, P uint32, P uint16
 *
 * and the checksum of the envelope is one of all of it.
 */
import { failed, ok } from '../../base/index.js';
import type { Result } from '../../base/index.js';
import type { FileMemory } from './file-memory.js';
import { FrameKind, unframe } from './frame.js';
import { gistLengths, readGist, readRecall, recallLengths } from './memory-arrays.js';
import { faultOfProvenance } from './provenance-bytes.js';
import { SectionReader, placeSections } from './sections.js';

export const FORMER_LAYOUT = 1;
const FIXED_BYTES = 72;

/** `bytes` begin at a multiple of 8. */
export function decodeFormerMemory(bytes: Uint8Array): Result<FileMemory> {
  const unframed = unframe(FrameKind.fileMemory, FORMER_LAYOUT, bytes);
  if (!unframed.ok) return unframed;
  const payload = unframed.value;
  if (payload.byteLength < FIXED_BYTES) return failed('payload too short for its header');
  const header = new Uint32Array(payload.buffer, payload.byteOffset, 9);
  const [tokens, groups, slots, headSize, heads, recallSlots, recallHeadSize, pairs, pathBytes] = [
    ...header,
  ] as unknown as [number, number, number, number, number, number, number, number, number];
  const gistShape = { groups, slots, headSize };
  const recallShape = { heads, slots: recallSlots, headSize: recallHeadSize };
  const lengths = [
    pathBytes,
    ...gistLengths(gistShape),
    ...recallLengths(recallShape),
    heads * (recallSlots + 1) * 4,
    pairs * 4,
    pairs * 2,
  ];
  const sections = placeSections(lengths, FIXED_BYTES);
  if (sections.end !== payload.byteLength) {
    return failed(`shapes ask for ${sections.end} bytes, there are ${payload.byteLength}`);
  }
  const reader = new SectionReader(payload, sections);
  const path = Buffer.from(reader.bytes()).toString('utf8');
  const gist = readGist(gistShape, reader);
  const recall = readRecall(recallShape, reader);
  // Copies, so that who keeps it does not keep all bytes.
  const provenance = {
    slotStart: reader.uint32().slice(),
    lines: reader.uint32().slice(),
    weights: reader.uint16().slice(),
  };
  const fault = faultOfProvenance(provenance, recallSlots);
  if (fault !== undefined) return failed(fault);
  const contentHash = Buffer.from(payload.subarray(40, 72)).toString('hex');
  return ok({ tokens, path, contentHash, gist, recall, provenance });
}
