/** Whether a machine is on its battery: what Linux's folder, macOS's and Windows' programs say, and that doubt means no. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isOnBattery, thisMachine, type Machine } from '../../src/extension/power.js';

suite('power', () => {
  let supplies: string;
  setup(() => (supplies = mkdtempSync(join(tmpdir(), 'longview-power-'))));
  teardown(() => rmSync(supplies, { recursive: true, force: true }));

  /** Says on Linux what `/sys/class/power_supply` says there; elsewhere its programs print `output`. */
  function machine(platform: NodeJS.Platform, output?: string, ran: string[] = []): Machine {
    const run = (file: string, args: readonly string[]): Promise<string> => {
      ran.push([file, ...args].join(' '));
      return output === undefined ? Promise.reject(new Error('ENOENT')) : Promise.resolve(output);
    };
    return { platform, supplies, run };
  }

  function supply(name: string, files: Record<string, string>): void {
    mkdirSync(join(supplies, name), { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(join(supplies, name, file), `${text}\n`);
  }

  const ac = { type: 'Mains', online: '1' };
  const noAc = { type: 'Mains', online: '0' };
  const discharging = { type: 'Battery', status: 'Discharging', scope: 'System' };

  // Kernel: Documentation/ABI/testing/sysfs-class-power.
  const cases: [name: string, supplies: Record<string, Record<string, string>>, onBattery: boolean][] = [
    ['a desktop', {}, false],
    ['unplugged', { AC: noAc, BAT0: discharging }, true],
    ['no adapter is listed', { BAT0: { type: 'Battery', status: 'Discharging' } }, true],
    ['plugged in and charging', { AC: ac, BAT0: { type: 'Battery', status: 'Charging' } }, false],
    ['plugged in to something weak', { AC: ac, BAT0: discharging }, false],
    ['fed by USB-C', { AC: noAc, BAT0: discharging, 'ucsi-source-psy-1': { type: 'USB', online: '1' } }, false],
    ['full', { BAT0: { type: 'Battery', status: 'Full' } }, false],
    ['one of two batteries discharges', { BAT0: { type: 'Battery', status: 'Unknown' }, BAT1: discharging }, true],
    ['a desktop with a mouse', { hidpp_battery_0: { ...discharging, scope: 'Device' } }, false],
    ['nothing that can be read', { AC: {}, BAT0: {} }, false],
  ];
  for (const [name, files, expected] of cases) {
    test(`Linux: ${name}`, async () => {
      for (const [supplyName, says] of Object.entries(files)) supply(supplyName, says);
      assert.equal(await isOnBattery(machine('linux')), expected);
    });
  }

  test('Linux without the folder', async () => {
    assert.equal(await isOnBattery({ ...machine('linux'), supplies: join(supplies, 'missing') }), false);
  });

  test('macOS: the line that pmset prints first', async () => {
    const ran: string[] = [];
    const rest = ' -InternalBattery-0 (id=1)\t95%; discharging; 4:10 remaining present: true\n';
    assert.equal(await isOnBattery(machine('darwin', `Now drawing from 'Battery Power'\n${rest}`, ran)), true);
    assert.equal(await isOnBattery(machine('darwin', `Now drawing from 'AC Power'\n${rest}`)), false);
    assert.equal(await isOnBattery(machine('darwin')), false);
    assert.deepEqual(ran, ['/usr/bin/pmset -g batt']);
  });

  test('Windows: the status of the power line', async () => {
    const ran: string[] = [];
    assert.equal(await isOnBattery(machine('win32', 'Offline\r\n', ran)), true);
    assert.equal(await isOnBattery(machine('win32', 'Online\r\n')), false);
    assert.equal(await isOnBattery(machine('win32', 'Unknown\r\n')), false);
    assert.equal(await isOnBattery(machine('win32')), false);
    assert.match(ran[0]!, /\\System32\\WindowsPowerShell\\v1\.0\\powershell\.exe -NoProfile .*PowerLineStatus$/);
  });

  test('elsewhere it counts as plugged in', async () => {
    assert.equal(await isOnBattery(machine('freebsd', 'Offline')), false);
  });

  test('a program that is missing, or fails, is an error of `run`; one that answers is heard', async () => {
    await assert.rejects(thisMachine.run(join(supplies, 'missing'), []));
    await assert.rejects(thisMachine.run(process.execPath, ['-e', 'process.exit(1)']));
    assert.equal(await thisMachine.run(process.execPath, ['-e', 'console.log("Offline")']), 'Offline\n');
  });
});
