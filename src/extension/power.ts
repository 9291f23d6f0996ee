/**
 * Whether the machine runs on its battery, by what each system has for that: a folder of Linux, a program of macOS or Windows,
 * started without a shell. What can't be found out counts as plugged in. Never waits longer than some seconds.
 */
import { execFile } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** How a machine is asked; tests ask one of their own. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  /** Linux's folder of power supplies. */
  readonly supplies: string;
  /** What a program prints. Throws where it is missing, fails or takes too long. */
  run(file: string, args: readonly string[]): Promise<string>;
}

const mostMs = 10_000;

export const thisMachine: Machine = {
  platform: process.platform,
  supplies: '/sys/class/power_supply',
  run: async (file, args) => {
    const { stdout } = await promisify(execFile)(file, args, { timeout: mostMs, windowsHide: true });
    return stdout;
  },
};

export async function isOnBattery(machine = thisMachine): Promise<boolean> {
  try {
    const { platform } = machine;
    if (platform === 'linux') return await linuxIsOnBattery(machine.supplies);
    // Its first line: Now drawing from 'Battery Power'.
    if (platform === 'darwin') return /'(Battery|UPS) Power'/.test(await machine.run('/usr/bin/pmset', ['-g', 'batt']));
    return platform === 'win32' && (await machine.run(powerShell(), powerLine)).trim() === 'Offline';
  } catch {
    return false;
  }
}

/** By its whole path: no folder of a workspace may lend its own. */
function powerShell(): string {
  const system = process.env['SystemRoot'] ?? 'C:\\Windows';
  return `${system}\\System32\\WindowsPowerShell\\v1.0\\powershell.exe`;
}

/** Prints Online, Offline or Unknown. */
const powerLine = [
  '-NoProfile',
  '-NonInteractive',
  '-Command',
  'Add-Type -AssemblyName System.Windows.Forms; [System.Windows.Forms.SystemInformation]::PowerStatus.PowerLineStatus',
];

/** A battery of the system discharges, and nothing else feeds the machine. */
async function linuxIsOnBattery(supplies: string): Promise<boolean> {
  let discharges = false;
  for (const name of await readdir(supplies)) {
    const says = async (what: string): Promise<string | undefined> =>
      (await readFile(join(supplies, name, what), 'utf8').catch(() => undefined))?.trim();
    // A mouse has one too.
    if ((await says('scope')) === 'Device') continue;
    if ((await says('type')) === 'Battery') discharges ||= (await says('status')) === 'Discharging';
    else if ((await says('online')) === '1') return false;
  }
  return discharges;
}
