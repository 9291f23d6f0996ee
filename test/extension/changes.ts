/** The suite of files that change on the disk; loaded by the test runner of VS Code. */
import { defineChangesSuite } from './changes.suite.js';
import { runSuites } from './run-suites.js';

export function run(): Promise<void> {
  return runSuites(defineChangesSuite);
}
