/** The suite of a workspace that is not trusted; loaded by the test runner of VS Code. */
import { defineRestrictedSuite } from './restricted.suite.js';
import { runSuites } from './run-suites.js';

export function run(): Promise<void> {
  return runSuites(defineRestrictedSuite);
}
