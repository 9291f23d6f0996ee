/** The suites of every feature; loaded by the test runner of VS Code. */
import { defineAskSuite } from './ask.suite.js';
import { defineChatSuite } from './chat.suite.js';
import { defineReadingSuite } from './reading.suite.js';
import { definePortableSuite } from './portable.suite.js';
import { definePanelSuite } from './panel.suite.js';
import { defineRecallSuite } from './recall.suite.js';
import { runSuites } from './run-suites.js';
import { defineSummarizeSuite } from './summarize.suite.js';

export function run(): Promise<void> {
  return runSuites(() => {
    defineAskSuite();
    defineChatSuite();
    defineReadingSuite();
    definePortableSuite();
    definePanelSuite();
    defineRecallSuite();
    defineSummarizeSuite();
  });
}
