/** The suite of a window without a folder; loaded by the test runner of VS Code. */
import { defineBareSuite } from './bare.suite.js';
import { runSuites } from './run-suites.js';

export function run(): Promise<void> {
  return runSuites(defineBareSuite);
}
