/** Door of `calibrate`. */
export { calibrate } from './calibrate.js';
export type { Calibrated, CalibrateOptions } from './calibrate.js';
export { ownSources } from './own-sources.js';
export { docQuestions } from './doc-questions.js';
export type { DocFunction, DocQuestion, DocText } from './doc-questions.js';
export { languageOfPath } from './function-heads.js';
export type { SourceLanguage } from './function-heads.js';
