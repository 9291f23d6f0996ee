/** Which files are documents, by their names, and which version of our code makes text of them. */
import { posix } from 'node:path';
import type { DocumentKind } from './document-text.js';

const KINDS: Readonly<Record<string, DocumentKind>> = { '.pdf': 'pdf', '.docx': 'docx', '.ipynb': 'notebook' };

/**
 * Raised whenever the text of any document of that kind may come out otherwise (our code or the library): memories of the
 * older text are then read again.
 */
const VERSIONS: Readonly<Record<DocumentKind, number>> = { pdf: 1, docx: 1, notebook: 1 };

/** Extensions, in lower case, with the dot. */
export const documentNames: readonly string[] = Object.keys(KINDS);

export function documentKind(path: string): DocumentKind | undefined {
  return KINDS[posix.extname(path).toLowerCase()];
}

/** What made the text of a file, e.g. `pdf-1`; undefined where the text is the file itself. */
export function textVersion(path: string): string | undefined {
  const kind = documentKind(path);
  return kind && `${kind}-${VERSIONS[kind]}`;
}
