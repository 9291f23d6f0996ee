/**
 * What a provider does with one model: the same small work as the product asks of it, compared with the CPU's results and
 * timed, and where each node of each graph ran. Meant for a process of its own: a provider may end it. Reads no user's file.
 */
import { join } from 'node:path';
import { LongviewError } from '../base/index.js';
import type { Engine } from './engine.js';
import { FILES } from './graph-contract.js';
import { engineOf } from './local-engine.js';
import type { LoadOptions } from './model.js';
import { Model } from './model.js';
import type { NodePlaces } from './ort.js';
import { chooseProvider } from './ort.js';
import type { RecallSlots } from './slots.js';

export interface ProviderReport {
  /** Warm. */
  readonly readTokensPerSecond: number;
  readonly writeTokensPerSecond: number;
  /** Graph file → provider → operator → nodes, of the graphs that the work ran. */
  readonly nodes: Readonly<Record<string, NodePlaces>>;
}

export interface ProbeReport extends ProviderReport {
  readonly cpu: ProviderReport;
  /** How far the mean loss of a text is from the CPU's, in nats a token; the largest difference of a slot's mass. */
  readonly lossDifference: number;
  readonly massDifference: number;
}

const LINES = 24;
const WRITTEN = 16;
/** So that the tokens of a short text go through the fold and are read from the state. */
const FOLDING = { windowChunks: 1, schedule: { kind: 'powerLaw', factor: 1, exponent: 0.5 } } as const;
const TEXT = Array.from(
  { length: LINES },
  (_, i) => `export const part${i} = (left: number) => left * ${(i * 37) % 101} + ${(i * 53) % 89};\n`,
).join('');

interface Work extends ProviderReport {
  readonly recall: RecallSlots;
  readonly loss: number;
  readonly mass: readonly number[];
}

/** Throws what loading throws, and where the provider can't be used, the reason. `cpu` is compared with itself. */
export async function probe(modelFolder: string, provider: string, threads: number): Promise<ProbeReport> {
  const { name, reason } = await chooseProvider(provider, join(modelFolder, FILES.read));
  if (name !== provider) throw new LongviewError('unsupported', reason);
  const cpu = await work(modelFolder, { provider: 'cpu', threads });
  if (provider === 'cpu') return { ...reportOf(cpu), cpu: reportOf(cpu), lossDifference: 0, massDifference: 0 };
  // Rounding rows to 8 bits is the CPU's alone: its speed counts, its results are not what another provider has to have.
  const here = await work(modelFolder, { provider: 'cpu', threads, int8: false });
  const there = await work(modelFolder, { provider, threads }, here.recall);
  return {
    ...reportOf(there),
    cpu: reportOf(cpu),
    lossDifference: Math.abs(there.loss - here.loss),
    // NaN stays: it is no equal result.
    massDifference: here.mass.reduce((most, mass, i) => Math.max(most, Math.abs(mass - there.mass[i]!)), 0),
  };
}

function reportOf({ readTokensPerSecond, writeTokensPerSecond, nodes }: Work): ProviderReport {
  return { readTokensPerSecond, writeTokensPerSecond, nodes };
}

/** Scores `slots`, by default those that it read itself: near ties may fold otherwise on another provider. */
async function work(modelFolder: string, options: LoadOptions, slots?: RecallSlots): Promise<Work> {
  const model = await Model.load(modelFolder, { ...options, profiled: true });
  const engine = await engineOf(model);
  try {
    const request = { label: 'probe.ts', text: TEXT, tokensPerRecallSlot: 4 };
    const { recall } = await engine.read(request);
    const { mass } = await scored(engine, slots ?? recall);
    const { loss } = await engine.loss(TEXT, { from: 8, limit: 3 * engine.model.chunk, ...FOLDING });
    const began = performance.now();
    const { tokens } = await engine.read(request);
    const readTokensPerSecond = (tokens / (performance.now() - began)) * 1000;
    return {
      readTokensPerSecond,
      writeTokensPerSecond: await writingSpeed(engine),
      nodes: await model.endProfiles(),
      recall,
      loss,
      mass,
    };
  } finally {
    await engine.dispose();
  }
}

/** Of a model without recall heads there is nothing to score. */
async function scored(engine: Engine, slots: RecallSlots): Promise<{ mass: readonly number[] }> {
  const { keyHeads } = engine.model.recall;
  if (keyHeads === 0) return { mass: [] };
  await engine.putRecall('probe', slots);
  const question = 'Which part multiplies by seven?';
  const scores = await engine.scoreRecall(question, ['probe']);
  const share = { start: Uint32Array.of(0, 1), slots: Uint32Array.of(0), shares: Float32Array.of(1) };
  const spans = { tokens: Float32Array.of(1), keyHeads: Array.from({ length: keyHeads }, () => share) };
  await engine.scoreSpans(question, ['probe'], spans);
  return { mass: scores.mass.mass.flatMap(own => [...own]) };
}

async function writingSpeed(engine: Engine): Promise<number> {
  const messages = [{ role: 'user', content: 'Count the parts.' } as const];
  const { writtenTokens, totalMs, firstTokenMs } = await engine.generate({ messages, maxTokens: WRITTEN });
  return (writtenTokens / Math.max(1, totalMs - firstTokenMs)) * 1000;
}
