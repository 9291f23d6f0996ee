/** What the test runner of VS Code loads: runs ask.suite.ts under mocha inside the extension host. */
import Mocha from 'mocha';
import { defineAskSuite } from './ask.suite.js';

export function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 500_000, reporter: 'spec', color: false });
  mocha.suite.emit('pre-require', globalThis, 'suite.cjs', mocha);
  defineAskSuite();
  return new Promise((done, fail) => {
    mocha.run(failures => (failures === 0 ? done() : fail(new Error(`${failures} tests failed`))));
  });
}
