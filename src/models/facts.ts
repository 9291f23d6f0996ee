/** What is worth telling of an installed model, from its manifest alone. Never opens its graphs. */
import type { ModelManifest } from './manifest.js';

export interface ModelFacts {
  readonly origin: string;
  /** Hex; what memories are kept under beside the name. */
  readonly fingerprint: string;
  readonly quantisation: string;
  readonly family?: string;
  readonly layers?: number;
  /** Of one slot of a state as it is stored, all KVM layers and key heads (engine: int8 keys and values, 20 bytes of figures). */
  readonly bytesPerSlot?: number;
  /** Heads fitted for recall; 0 where the model was not calibrated. */
  readonly recallHeads: number;
  /** Of the check after conversion: difference from the checkpoint, and what was allowed. */
  readonly check?: { readonly difference: number; readonly tolerance: number };
}

export function factsOf(manifest: ModelManifest): ModelFacts {
  const { origin, fingerprint, quantisation, architecture, recall, verification } = manifest;
  return {
    origin,
    fingerprint,
    quantisation,
    ...(architecture && {
      family: architecture.family,
      layers: architecture.layers,
      bytesPerSlot:
        (architecture.kvmLayers ?? architecture.layers) * architecture.keyHeads * (2 * architecture.headSize + 20),
    }),
    recallHeads: recall?.heads.length ?? 0,
    ...(verification && { check: { difference: verification.difference, tolerance: verification.tolerance } }),
  };
}
