/** Door of `calibrate`. */
export { docQuestions } from './doc-questions.js';
export type { DocFunction, DocQuestion, DocText } from './doc-questions.js';
export { languageOfPath } from './function-heads.js';
export type { SourceLanguage } from './function-heads.js';
