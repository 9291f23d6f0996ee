/** Runs suites under mocha inside the extension host; with LONGVIEW_SUITE=TEXT only the tests whose names hold that text. */
import Mocha from 'mocha';

export function runSuites(define: () => void): Promise<void> {
  const mocha = new Mocha({ ui: 'tdd', timeout: 500_000, reporter: 'spec', color: false });
  mocha.suite.emit('pre-require', globalThis, 'suite.cjs', mocha);
  define();
  if (process.env.LONGVIEW_SUITE) mocha.fgrep(process.env.LONGVIEW_SUITE);
  return new Promise((done, fail) => {
    mocha.run(failures => (failures === 0 ? done() : fail(new Error(`${failures} tests failed`))));
  });
}
