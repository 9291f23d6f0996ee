/**
 * Which provider a model is started on, by probes in processes of their own whose outcomes are kept in a file: for one
 * machine, model, provider and version of onnxruntime each. A file that can't be read or written costs a probe, no more.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { ProviderChoice } from '../engine.js';
import type { Manifest } from '../graph-contract.js';
import { MANIFEST_FILE } from '../graph-contract.js';
import { acceleratorsOf, isAccelerator, providerNamed, runtimeVersion } from '../providers.js';
import type { Accelerator } from '../providers.js';
import type { ProbeArguments } from './messages.js';
import { probeApart } from './probe-apart.js';
import type { ProbeOutcome } from './probe-apart.js';

export interface ChooseOptions {
  readonly modelFolder: string;
  readonly threads: number;
  readonly provider?: string;
  readonly belowNormal?: boolean;
  /** File of outcomes. */
  readonly outcomes: string;
  readonly signal?: AbortSignal;
  readonly platform?: NodeJS.Platform;
  readonly probe?: (given: ProbeArguments) => Promise<ProbeOutcome>;
  readonly now?: number;
}

interface KeptOutcome {
  readonly at: number;
  readonly outcome: ProbeOutcome;
}

/** Drivers come: what failed is tried again after a day. */
const FAILURE_LASTS_MS = 24 * 3600_000;

/**
 * A provider that was asked for is taken if its probe succeeds; `auto` takes the first that reads faster than the CPU and
 * writes no slower. Else the CPU, with the reason. Throws `usage` for an unknown name, and `cancelled`.
 */
export async function chooseApart(options: ChooseOptions): Promise<ProviderChoice> {
  const wanted = providerNamed(options.provider);
  if (wanted === 'cpu') return { name: 'cpu', reason: 'asked for' };
  if (isAccelerator(wanted)) {
    const outcome = await outcomeFor(wanted, options);
    if ('report' in outcome) return { name: wanted, reason: 'asked for' };
    return { name: 'cpu', reason: `${wanted} can't be used here: ${whyOf(wanted, outcome.failure)}` };
  }
  const passedOver: string[] = [];
  for (const name of acceleratorsOf(options.platform ?? process.platform)) {
    const outcome = await outcomeFor(name, options);
    if ('failure' in outcome) {
      passedOver.push(`${name} can't be used here: ${whyOf(name, outcome.failure)}`);
      continue;
    }
    const { readTokensPerSecond, writeTokensPerSecond, cpu } = outcome.report;
    const reading = readTokensPerSecond / cpu.readTokensPerSecond;
    const writing = writeTokensPerSecond / cpu.writeTokensPerSecond;
    const speed = `reads ${reading.toPrecision(2)} and writes ${writing.toPrecision(2)} times as fast as the CPU`;
    if (reading > 1 && writing >= 1) return { name, reason: speed };
    passedOver.push(`${name} ${speed}`);
  }
  return { name: 'cpu', reason: ['the fastest here', ...passedOver].join('; ') };
}

/** A provider that failed after its probe: the next start probes it again. */
export async function forgetOutcome(outcomes: string, modelFolder: string, provider: string): Promise<void> {
  const kept = await readOutcomes(outcomes);
  kept.delete(await keyOf(provider, modelFolder));
  await writeOutcomes(outcomes, kept);
}

/** The probe's words name the provider already where onnxruntime's were put in ours. */
function whyOf(name: string, failure: string): string {
  const prefix = `${name} can't be used here: `;
  return failure.startsWith(prefix) ? failure.slice(prefix.length) : failure;
}

async function outcomeFor(provider: Accelerator, options: ChooseOptions): Promise<ProbeOutcome> {
  const { modelFolder, threads, belowNormal, outcomes, signal, now = Date.now() } = options;
  const probe = options.probe ?? ((given: ProbeArguments) => probeApart(given, { signal }));
  const key = await keyOf(provider, modelFolder);
  const kept = (await readOutcomes(outcomes)).get(key);
  if (kept && ('report' in kept.outcome || now - kept.at < FAILURE_LASTS_MS)) return kept.outcome;
  const outcome = await probe({ modelFolder, provider, threads, belowNormal });
  // Read again: another process may have kept one meanwhile.
  await writeOutcomes(outcomes, (await readOutcomes(outcomes)).set(key, { at: now, outcome }));
  return outcome;
}

async function keyOf(provider: string, modelFolder: string): Promise<string> {
  const text = await readFile(join(modelFolder, MANIFEST_FILE), 'utf8').catch(() => '{}');
  const { fingerprint } = JSON.parse(text) as Partial<Manifest>;
  return [provider, fingerprint, runtimeVersion(), process.platform, process.arch, hostname()].join(' ');
}

async function readOutcomes(file: string): Promise<Map<string, KeptOutcome>> {
  try {
    return new Map(Object.entries(JSON.parse(await readFile(file, 'utf8')) as Record<string, KeptOutcome>));
  } catch {
    return new Map();
  }
}

async function writeOutcomes(file: string, kept: ReadonlyMap<string, KeptOutcome>): Promise<void> {
  const draft = `${file}.${process.pid}`;
  await writeFile(draft, JSON.stringify(Object.fromEntries(kept)))
    .then(() => rename(draft, file))
    .catch(() => undefined);
}
