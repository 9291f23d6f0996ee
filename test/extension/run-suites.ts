/** Runs suites under mocha inside the extension host. */
import Mocha from 'mocha';

export function runSuites(define: () => void): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 500_000, reporter: 'spec', color: false });
  mocha.suite.emit('pre-require', globalThis, 'suite.cjs', mocha);
  define();
  return new Promise((done, fail) => {
    mocha.run(failures => (failures === 0 ? done() : fail(new Error(`${failures} tests failed`))));
  });
}
