/**
 * What the memory asks of a folder: which files there are, and the text of one. Paths are relative to the folder, with `/`.
 * Never reads outside the folder, links resolved, and never throws for a bad file.
 */
import { join } from 'node:path';
import { failed, ok, type Result } from '../base/index.js';
import { DocumentReader, documentKind, documentNames, type Places } from './documents/index.js';
import type { MemorySettings } from './settings.js';
import { holdsPrivateKey, readBytes, readText, walkWorkspace, type SkipReason, type Verdict } from './walk/index.js';

/** A file, or a folder that is skipped as a whole (its path ends with `/`). */
export interface SeenFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
  /** Why it is not read, when it is not. */
  readonly skipped?: string;
}

export interface SourceText {
  /** Lines end with `\n` or `\r\n`. */
  readonly text: string;
  /** Where a document's lines stand in it; none where the text is the file itself. */
  readonly places?: Places;
  /** What of a document gave no text, for people. */
  readonly partial?: string;
  /** SHA-256 of the bytes, hex. */
  readonly contentHash: string;
  readonly size: number;
  readonly mtimeMs: number;
}

/** What an earlier walk found of a file: `true` if it was to be read, the reason if it was skipped. */
export type Known = (path: string, size: number, mtimeMs: number) => true | string | undefined;

export interface WalkPart {
  /** These paths and what lies in them; everything if not given. */
  readonly only?: readonly string[];
  /** Told each path of which all was said, where `only` is given: what was known of it and of what lies in it is out of date. */
  readonly onCovered?: (path: string) => void;
  readonly signal?: AbortSignal;
}

export interface SourceFiles {
  /** The files of the folder, the skipped too. A file that is `known` is not opened. */
  walk(known: Known, part?: WalkPart): AsyncIterable<SeenFile>;
  /** Text and hash of one file, or the reason why it has none. Throws `cancelled`. */
  read(path: string, signal?: AbortSignal): Promise<Result<SourceText>>;
}

/** The files of a folder on disk. `root` is a real path. */
export function filesOf(root: string, settings: MemorySettings): SourceFiles {
  const { maxFileBytes: maxBytes, exclude, named } = settings;
  const documents = new DocumentReader();
  // The walk sees the beginning of a file only.
  const isSecret = (path: string, text: string): boolean => !named.includes(path) && holdsPrivateKey(text);
  return {
    async *walk(known, part = {}) {
      const verdict = (path: string, size: number, mtimeMs: number): Verdict | undefined => {
        const before = known(path, size, mtimeMs);
        if (before === undefined) return undefined;
        return before === true ? { read: true } : { read: false, reason: before as SkipReason };
      };
      const options = { exclude, named, documents: documentNames, maxBytes, known: verdict, ...part };
      for await (const file of walkWorkspace(root, options)) {
        const { path, size, mtimeMs } = file;
        yield file.verdict.read ? { path, size, mtimeMs } : { path, size, mtimeMs, skipped: file.verdict.reason };
      }
    },
    async read(path, signal) {
      const options = { maxBytes, within: root };
      const kind = documentKind(path);
      if (!kind) {
        const read = await readText(join(root, path), options);
        if (!read.ok) return failed(read.reason);
        const { text, hash, size, mtimeMs } = read.value;
        if (isSecret(path, text)) return failed('secret');
        return ok({ text, contentHash: hash, size, mtimeMs });
      }
      const read = await readBytes(join(root, path), options);
      if (!read.ok) return failed(read.reason);
      const { bytes, hash, size, mtimeMs } = read.value;
      const document = await documents.read(kind, hash, bytes, signal);
      if (!document.ok) return document;
      if (isSecret(path, document.value.text)) return failed('secret');
      return ok({ ...document.value, contentHash: hash, size, mtimeMs });
    },
  };
}
