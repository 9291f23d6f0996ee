/** Definitions over the files that were read. */
export { languageOf } from './definition.js';
export type { Definition, DefinitionKind, Family, Language } from './definition.js';
export { DefinitionIndex } from './definition-index.js';
export type { IndexedDefinition, KnownFile } from './definition-index.js';
export { definitionsOf } from './extract.js';
export { definitionText } from './show.js';
export type { DefinitionText } from './show.js';
