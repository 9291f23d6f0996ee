/** The suites of a reload and of two windows; loaded by the test runner of VS Code, again after the reload. */
import { runSuites } from './run-suites.js';
import { defineReloadSuite, defineReloadedSuite, defineTwoWindowsSuite, wasReloaded } from './windows.suite.js';

export function run(): Promise<void> {
  // Whatever fails before the reload must keep it from coming: its result would be lost.
  if (!wasReloaded()) return runSuites(defineReloadSuite, { bail: true });
  return runSuites(() => {
    defineReloadedSuite();
    defineTwoWindowsSuite();
  });
}
