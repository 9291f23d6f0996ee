/** What the test runner of VS Code loads: runs the *.suite.ts files under mocha inside the extension host. */
import Mocha from 'mocha';
import { defineAskSuite } from './ask.suite.js';
import { defineChatSuite } from './chat.suite.js';

export function run(): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 500_000, reporter: 'spec', color: false });
  mocha.suite.emit('pre-require', globalThis, 'suite.cjs', mocha);
  defineAskSuite();
  defineChatSuite();
  return new Promise((done, fail) => {
    mocha.run(failures => (failures === 0 ? done() : fail(new Error(`${failures} tests failed`))));
  });
}
