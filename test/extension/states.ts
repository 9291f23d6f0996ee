/** The suite of several folders and of failures; loaded by the test runner of VS Code. */
import { runSuites } from './run-suites.js';
import { defineStatesSuite } from './states.suite.js';

export function run(): Promise<void> {
  return runSuites(defineStatesSuite);
}
