/** Every name that the manifest (package.json) and the code share. */

export const command = {
  ask: 'longview.ask',
  askAboutSelection: 'longview.askAboutSelection',
  summarizeSelection: 'longview.summarizeSelection',
  summarizeFile: 'longview.summarizeFile',
  summarizeFolder: 'longview.summarizeFolder',
  summarizeWorkspace: 'longview.summarizeWorkspace',
  summarizeChanges: 'longview.summarizeChanges',
  readNow: 'longview.readNow',
  pause: 'longview.pauseReading',
  showMenu: 'longview.showMenu',
  forgetFile: 'longview.forgetFile',
  forgetWorkspace: 'longview.forgetWorkspace',
  exportMemory: 'longview.exportMemory',
  importMemory: 'longview.importMemory',
  chooseModel: 'longview.chooseModel',
  importModel: 'longview.importModel',
  diagnostics: 'longview.diagnostics',
  recallAtCursor: 'longview.recallAtCursor',
  showMemory: 'longview.showMemory',
  refreshMemory: 'longview.refreshMemory',
  filterMemory: 'longview.filterMemory',
  forgetInMemory: 'longview.forgetInMemory',
  showLog: 'longview.showLog',
} as const;

/** Views of the container `longview` in the activity bar. */
export const view = {
  ask: 'longview.askView',
  memory: 'longview.memoryView',
  growth: 'longview.growthView',
} as const;

export const setting = {
  modelName: 'model.name',
  dataFolder: 'storage.folder',
  threads: 'engine.threads',
  provider: 'engine.provider',
  ram: 'memory.ram',
  disk: 'memory.disk',
  state: 'memory.state',
  startReading: 'reading.start',
  cpuShare: 'reading.cpuShare',
  onBattery: 'reading.onBattery',
  inlayHints: 'inlayHints.enabled',
} as const;

/** Section of all settings. */
export const section = 'longview';

/** URI scheme of the read-only documents that hold an answer. */
export const answerScheme = 'longview-answer';

/** Id of the chat participant `@longview`. */
export const chatParticipant = 'longview.chat';

/** Language model tools, named alike on the MCP server. */
export const tool = {
  recall: 'longview_recall',
  ask: 'longview_ask',
  summarize: 'longview_summarize',
} as const;

/** Vendor of the language model. */
export const modelVendor = 'longview';

/** Id of the provider of MCP server definitions. */
export const mcpProvider = 'longview.mcp';
