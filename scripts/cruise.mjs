// `npm run cruise`: which module imports which, against the rules of .dependency-cruiser.cjs.
// Fails as well when nothing was cruised: a cruiser that cannot read the sources finds no violation either.
import { cruise } from 'dependency-cruiser';
import extractOptions from 'dependency-cruiser/config-utl/extract-depcruise-options';
import { writeSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const options = await extractOptions(fileURLToPath(new URL('../.dependency-cruiser.cjs', import.meta.url)));
process.chdir(fileURLToPath(new URL('..', import.meta.url)));
const { output } = await cruise(['src'], options);
const { violations, totalCruised } = output.summary;
const errors = violations.filter(violation => violation.rule.severity === 'error');
for (const { rule, from, to } of errors) writeSync(1, `${rule.name}: ${from} → ${to}\n`);
writeSync(1, `${totalCruised} modules, ${errors.length} violations\n`);
if (errors.length > 0 || totalCruised === 0) process.exitCode = 1;
