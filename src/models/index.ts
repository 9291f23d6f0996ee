/** Door of `models`: the catalogue, downloads, what is installed. */
export { entryOf, readCatalogue } from './catalogue.js';
export type { Catalogue, CatalogueModel } from './catalogue.js';
export { checkedName, dataFolder } from './data-folder.js';
export { defaultQuantisation, installModel, modelOffer } from './install.js';
export type { InstallOptions, ModelOffer, Quantisation } from './install.js';
export { cleanLeftovers, defaultModel, findModel, listModels, removeModel } from './installed.js';
export type { InstalledModel, ListedModel } from './installed.js';
export { estimatedDiskBytes, findOnHub, hubBytesOf, hubOriginOf } from './hub-checkpoint.js';
export type { HubCheckpoint } from './hub-checkpoint.js';
export { parseHubId } from './hub-id.js';
export type { HubId } from './hub-id.js';
export { factsOf } from './facts.js';
export type { ModelFacts } from './facts.js';
export { bytesOf, verifyFiles } from './manifest.js';
export { verifyModel } from './verify.js';
export type { VerifiedModel } from './verify.js';
export type { ModelManifest } from './manifest.js';
