/**
 * Runs suites under mocha inside the extension host; with LONGVIEW_SUITE=TEXT only the tests whose names hold that text.
 * `bail`: ends at the first test that fails.
 */
import Mocha from 'mocha';

export function runSuites(define: () => void, { bail = false } = {}): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 500_000, reporter: 'spec', color: false, bail });
  mocha.suite.emit('pre-require', globalThis, 'suite.cjs', mocha);
  define();
  if (process.env.LONGVIEW_SUITE) mocha.fgrep(process.env.LONGVIEW_SUITE);
  return new Promise((done, fail) => {
    mocha.run(failures => (failures === 0 ? done() : fail(new Error(`${failures} tests failed`))));
  });
}
