/**
 * What the settings of the server count as, and which of them say what they cannot be. Takes up no more than the manifest
 * (package.json) allows and the command line accepts. Never reads settings itself: no editor in here.
 */
import type { ServerOptions } from '../protocol/index.js';
import { section, setting } from './ids.js';

/** The least is 0 for all. */
export const mostOf = {
  [setting.threads]: 256,
  [setting.ram]: 999_999,
  [setting.disk]: 999_999,
  [setting.state]: 999_999_999,
} as const;

export interface BadSetting {
  /** With its section. */
  readonly name: string;
  /** As JSON, cut. */
  readonly value: string;
}

const mostCharacters = 40;

/** `get` tells the value of a setting, of whatever type; what cannot be meant is told to `onBad` and counts as the default. */
export function optionsOf(get: (name: string) => unknown, onBad: (bad: BadSetting) => void): ServerOptions {
  const checked = <T>(name: string, isRight: (value: unknown) => value is T): T | undefined => {
    const value = get(name);
    if (value === undefined || isRight(value)) return value;
    onBad({ name: `${section}.${name}`, value: JSON.stringify(value).slice(0, mostCharacters) });
    return undefined;
  };
  const text = (name: string): string | undefined => checked(name, isText)?.trim() || undefined;
  const whole = (name: keyof typeof mostOf): number | undefined =>
    checked(name, (value): value is number => isWhole(value, mostOf[name]));
  return {
    data: text(setting.dataFolder),
    model: text(setting.modelName),
    threads: whole(setting.threads) || undefined,
    ram: whole(setting.ram) || undefined,
    disk: whole(setting.disk) || undefined,
    state: whole(setting.state),
    provider: checked(setting.provider, isProvider),
  };
}

/** The same for `longview mcp`. */
export function flagsOf(options: ServerOptions): string[] {
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= most;
}

/** Those of the manifest. */
function isProvider(value: unknown): value is string {
  return isText(value) && /^(?:auto|cpu|webgpu|cuda|dml|coreml)$/.test(value);
}
