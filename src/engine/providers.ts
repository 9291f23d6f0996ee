/** Names of execution providers, and which of them a platform can have. Never loads onnxruntime. */
import { createRequire } from 'node:module';
import { LongviewError } from '../base/index.js';

/** Names that a setting may ask for. */
export const PROVIDERS = ['auto', 'cpu', 'webgpu', 'cuda', 'dml', 'coreml'] as const;

export type ProviderName = (typeof PROVIDERS)[number];

/** Throws `usage` for an unknown name. */
export function providerNamed(wanted = 'auto'): ProviderName {
  const found = PROVIDERS.find(name => name === wanted);
  if (found) return found;
  throw new LongviewError('usage', `Unknown execution provider "${wanted}"; there are ${PROVIDERS.join(', ')}.`);
}

export type Accelerator = Exclude<ProviderName, 'auto' | 'cpu'>;

export function isAccelerator(name: string | undefined): name is Accelerator {
  return name !== 'auto' && name !== 'cpu' && PROVIDERS.some(known => known === name);
}

/** What `auto` tries, the most specific first. */
export function acceleratorsOf(platform: NodeJS.Platform): readonly Accelerator[] {
  return ACCELERATORS.get(platform) ?? [];
}

const ACCELERATORS: ReadonlyMap<NodeJS.Platform, readonly Accelerator[]> = new Map([
  ['win32', ['dml', 'webgpu']],
  ['darwin', ['coreml', 'webgpu']],
  ['linux', ['cuda', 'webgpu']],
]);

/** Of the package, which is not loaded for it. */
export function runtimeVersion(): string {
  return (createRequire(import.meta.url)('onnxruntime-node/package.json') as { version: string }).version;
}
