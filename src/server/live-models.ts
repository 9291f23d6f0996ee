/** Models on this machine: what there is, what can be had, and getting it. Never downloads but when it is asked to. */
import { installModel, listModels, modelOffer, readCatalogue } from '../models/index.js';
import type { ModelReply } from '../protocol/index.js';
import type { ModelBackend } from './backend.js';
import type { LiveHouse } from './live-house.js';

export function modelBackend(house: LiveHouse): ModelBackend {
  const { data, options, log } = house;
  const offer = (name?: string): Promise<ModelReply> => modelOffer(data, name ?? options.model);
  return {
    model: () => offer(),
    models: async () => {
      const catalogue = await readCatalogue();
      const listed = await listModels(data);
      const names = [...new Set([...catalogue.models, ...listed].map(model => model.name))].sort();
      const models = await Promise.all(
        names.map(async name => {
          const there = listed.find(model => model.name === name);
          const isDefault = name === catalogue.default;
          if (there?.problem === undefined) return { ...(await offer(name)), isDefault };
          const nothing = { downloadBytes: 0, source: '', license: '' };
          return { name, installed: false, diskBytes: there.bytes, ...nothing, isDefault, problem: there.problem };
        }),
      );
      const running = house.started?.model;
      const engine = running && {
        model: running.name,
        provider: running.provider.name,
        reason: running.provider.reason,
      };
      return { models, ...(engine && { engine }) };
    },
    installModel: async ({ name, from }, { signal, onProgress }) => {
      const { runGraphsApart } = await import('../engine/index.js');
      const wanted = name ?? (from === undefined ? options.model : undefined);
      const installed = await installModel(data, wanted, { from, run: runGraphsApart, signal, onProgress, log });
      return offer(installed.name);
    },
  };
}
