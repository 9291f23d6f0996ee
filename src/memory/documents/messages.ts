/** What goes between `DocumentReader` and its process. Types only. */
import type { Result } from '../../base/index.js';
import type { DocumentKind, DocumentText } from './document-text.js';

export interface ToDocuments {
  readonly id: number;
  readonly kind: DocumentKind;
  readonly bytes: Uint8Array;
}

export type FromDocuments =
  | { readonly kind: 'ready' }
  /** It went on by one page. */
  | { readonly kind: 'step'; readonly id: number }
  /** `spent`: the process has grown and ends after this. */
  | { readonly kind: 'text'; readonly id: number; readonly text: Result<DocumentText>; readonly spent: boolean };
