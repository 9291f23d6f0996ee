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

/** Tells the value of a setting, of whatever type. */
export type GetSetting = (name: string) => unknown;
export type OnBadSetting = (bad: BadSetting) => void;

/** What cannot be meant is told to `onBad` and counts as the default. */
export function optionsOf(get: GetSetting, onBad: OnBadSetting): ServerOptions {
  const text = (name: string): string | undefined => checked(name, isText, get, onBad)?.trim() || undefined;
  const whole = (name: keyof typeof mostOf): number | undefined => {
    const isRight = (value: unknown): value is number => isWhole(value, 0, mostOf[name]);
    return checked(name, isRight, get, onBad);
  };
  return {
    data: text(setting.dataFolder),
    model: text(setting.modelName),
    threads: whole(setting.threads) || undefined,
    ram: whole(setting.ram) || undefined,
    disk: whole(setting.disk) || undefined,
    state: whole(setting.state),
    provider: checked(setting.provider, isProvider, get, onBad),
  };
}

/** Percent that reading may take, 1 to 100, in the same way. */
export function cpuShareOf(get: GetSetting, onBad: OnBadSetting): number | undefined {
  return checked(setting.cpuShare, (value): value is number => isWhole(value, 1, 100), get, onBad);
}

function checked<T>(
  name: string,
  isRight: (value: unknown) => value is T,
  get: GetSetting,
  onBad: OnBadSetting,
): T | undefined {
  const value = get(name);
  if (value === undefined || isRight(value)) return value;
  onBad({ name: `${section}.${name}`, value: JSON.stringify(value).slice(0, mostCharacters) });
  return undefined;
}

/** Options of the server as flags of `longview mcp`. */
export function flagsOf(options: ServerOptions): string[] {
  return Object.entries(options).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWhole(value: unknown, least: number, most: number): boolean {
  return Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
}

/** Those of the manifest. */
function isProvider(value: unknown): value is string {
  return isText(value) && /^(?:auto|cpu|webgpu|cuda|dml|coreml)$/.test(value);
}
