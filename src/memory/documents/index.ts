/** Door of the documents: text of PDF and Word files and notebooks, with its places. */
export { DocumentReader } from './document-reader.js';
export type { ReaderOptions } from './document-reader.js';
export { documentKind, documentNames, textVersion } from './document-kind.js';
export { placeName } from './document-text.js';
export type { DocumentKind, DocumentText, Places } from './document-text.js';
