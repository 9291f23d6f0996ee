/** Settings that say what they cannot be, as in a settings.json written by hand: the default counts, and it is told. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { buildProgram } from '../../src/cli/program.js';
import { cpuShareOf, flagsOf, mostOf, optionsOf } from '../../src/extension/setting-values.js';
import type { ServerOptions } from '../../src/protocol/index.js';

const { properties } = (
  JSON.parse(readFileSync('package.json', 'utf8')) as {
    contributes: { configuration: { properties: Record<string, Record<string, unknown>> } };
  }
).contributes.configuration;
const numbers = { 'engine.threads': 'threads', 'memory.ram': 'ram', 'memory.disk': 'disk', 'memory.state': 'state' };

/** What the settings count as, and a line for each that is told. */
function read(settings: Record<string, unknown>): { options: ServerOptions; told: string[] } {
  const told: string[] = [];
  const options = optionsOf(
    name => settings[name],
    ({ name, value }) => void told.push(`${name} ${value}`),
  );
  return { options: JSON.parse(JSON.stringify(options)) as ServerOptions, told };
}

/** What `longview mcp` makes of its flags; throws as it does. */
function parsed(flags: readonly string[]): Record<string, unknown> {
  const program = buildProgram({} as Parameters<typeof buildProgram>[0]);
  const mcp = program.commands.find(command => command.name() === 'mcp')!;
  const known = [...program.options, ...mcp.options];
  const found: Record<string, unknown> = {};
  for (let at = 0; at < flags.length; at += 2) {
    const option = known.find(({ long }) => long === flags[at])!;
    found[option.attributeName()] = option.parseArg
      ? option.parseArg<unknown>(flags[at + 1]!, undefined)
      : flags[at + 1];
  }
  return found;
}

suite('values of settings', () => {
  test('what can be meant counts as it stands; 0 is automatic, but no state', () => {
    const settings = {
      'storage.folder': ' /data ',
      'model.name': '',
      'engine.threads': 0,
      'memory.ram': 100,
      'memory.disk': 0,
      'memory.state': 0,
      'engine.provider': 'cpu',
    };
    assert.deepEqual(read(settings), { options: { data: '/data', ram: 100, state: 0, provider: 'cpu' }, told: [] });
  });

  for (const [name, option] of Object.entries(numbers)) {
    const most = mostOf[name as keyof typeof mostOf];
    test(`${name}: null, parts, negative ones, too large ones and no numbers count as the default`, () => {
      for (const value of [null, 1.5, -1, most + 1, 1e300, '7', true, [7], { of: 7 }])
        assert.deepEqual(read({ [name]: value }), {
          options: {},
          told: [`longview.${name} ${JSON.stringify(value)}`],
        });
      assert.deepEqual(read({ [name]: most }), { options: { [option]: most }, told: [] });
    });

    test(`${name}: the manifest and the command line know the same limits`, () => {
      const { type, minimum, maximum } = properties[`longview.${name}`]!;
      assert.deepEqual({ type, minimum, maximum }, { type: 'integer', minimum: 0, maximum: most });
      assert.deepEqual(parsed([`--${option}`, String(most)]), { [option]: most });
    });
  }

  test('a share of the processor time is 1 to 100, as the manifest says', () => {
    const shareOf = (value: unknown): unknown[] => {
      const told: unknown[] = [];
      return [
        cpuShareOf(
          () => value,
          ({ name }) => void told.push(name),
        ),
        ...told,
      ];
    };
    const { minimum, maximum } = properties['longview.reading.cpuShare']!;
    assert.deepEqual([minimum, maximum], [1, 100]);
    for (const share of [minimum, 25, maximum, undefined]) assert.deepEqual(shareOf(share), [share]);
    for (const bad of [0, -1, 101, 2.5, null, '50'])
      assert.deepEqual(shareOf(bad), [undefined, 'longview.reading.cpuShare']);
  });

  test('texts that are none, and an execution provider that there is not, count as the default', () => {
    assert.deepEqual(read({ 'model.name': 5, 'storage.folder': null, 'engine.provider': 'gpu' }), {
      options: {},
      told: ['longview.storage.folder null', 'longview.model.name 5', 'longview.engine.provider "gpu"'],
    });
    for (const provider of properties['longview.engine.provider']!.enum as string[])
      assert.deepEqual(parsed(flagsOf(read({ 'engine.provider': provider }).options)), { provider });
  });

  test('whatever they say, `longview mcp` takes what the editor makes of it', () => {
    const value = fc.oneof(fc.jsonValue(), fc.integer(), fc.double(), fc.constantFrom(null, 999_999, 1_000_000, -0));
    const settings = fc.record(Object.fromEntries(Object.keys(numbers).map(name => [name, value])));
    fc.assert(
      fc.property(settings, chosen => {
        const { options } = read(chosen);
        assert.deepEqual(parsed(flagsOf(options)), options);
      }),
      { seed: 20261130, numRuns: 300 },
    );
  });
});
