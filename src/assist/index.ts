/** Door of `assist`. */
export { ask, withoutText } from './ask.js';
export type { AskOptions, AskRequest, AskResult } from './ask.js';
export { checkCitations, placeInDocument, placeOf, recalledPlace, referencesIn, shownPlace } from './citations.js';
export type { CheckedText, Citation, Place, Reference } from './citations.js';
export { coverageLine, reasonsLine } from './coverage.js';
export { commitOf } from './git.js';
export { promptOf, styleFor } from './prompt.js';
export type { Prompt, PromptParts, PromptStyle } from './prompt.js';
export { summarize, summaryCoverageLine } from './summarize.js';
export type {
  SummarizeOptions,
  SummarizeRequest,
  SummaryCoverage,
  SummaryResult,
  SummarySentence,
  SummaryTarget,
} from './summarize.js';
export { recallAt } from './recall-at.js';
export type { RecallAtOptions, RecallAtRequest, RecallAtResult, RecalledDefinition } from './recall-at.js';
