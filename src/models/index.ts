/** Door of `models`: the catalogue, downloads, what is installed. */
export { entryOf, readCatalogue } from './catalogue.js';
export type { Catalogue, CatalogueModel } from './catalogue.js';
export { dataFolder } from './data-folder.js';
export { installModel, modelOffer } from './install.js';
export type { InstallOptions, ModelOffer } from './install.js';
export { cleanLeftovers, findModel, listModels, removeModel } from './installed.js';
export type { InstalledModel, ListedModel } from './installed.js';
export { verifyModel } from './manifest.js';
export type { ModelManifest } from './manifest.js';
