/**
 * `longview model providers`: what each execution provider that this platform can have does with a model, tried anew in
 * processes of their own. Keeps nothing: the engine makes and keeps its own choice.
 */
import type { NodePlaces, ProviderReport } from '../../engine/index.js';
import { findModel } from '../../models/index.js';
import { dataOf, type Call, type GlobalFlags } from '../house.js';

interface Row extends Partial<ProviderReport> {
  readonly provider: string;
  readonly failure?: string;
  readonly lossDifference?: number;
  readonly massDifference?: number;
}

export async function runModelProviders({ surface, signal }: Call, name: string | undefined, flags: GlobalFlags) {
  const model = await findModel(dataOf(flags), name ?? flags.model);
  const { acceleratorsOf, automaticThreads, probeApart } = await import('../../engine/index.js');
  const threads = flags.threads ?? automaticThreads();
  const wanted = flags.provider === undefined || flags.provider === 'auto' ? undefined : flags.provider;
  const rows: Row[] = [];
  for (const provider of wanted ? [wanted] : ['cpu', ...acceleratorsOf(process.platform)]) {
    surface.note(`Trying ${provider} …`);
    const outcome = await probeApart({ modelFolder: model.folder, provider, threads }, { signal });
    if ('failure' in outcome) rows.push({ provider, failure: outcome.failure });
    else {
      const { readTokensPerSecond, writeTokensPerSecond, nodes, lossDifference, massDifference } = outcome.report;
      rows.push({ provider, readTokensPerSecond, writeTokensPerSecond, lossDifference, massDifference, nodes });
    }
  }
  if (flags.json) surface.json({ model: model.manifest.name, threads, providers: rows });
  else for (const row of rows) surface.out(linesOf(row));
}

function linesOf({ provider, failure, nodes, lossDifference = 0, massDifference = 0, ...speed }: Row): string {
  if (nodes === undefined) return `${provider}: ${failure?.replace(`${provider} can't`, "can't")}\n`;
  const rate = (value = 0): string => String(Number(value.toPrecision(3)));
  const equality = `loss ${lossDifference.toPrecision(2)} nats, attention ${massDifference.toPrecision(2)} from the CPU's`;
  const graphs = Object.entries(nodes).map(([graph, places]) => `  ${graph}: ${placesLine(places)}\n`);
  return (
    `${provider}: reads ${rate(speed.readTokensPerSecond)} and writes ${rate(speed.writeTokensPerSecond)} tokens/s; ` +
    `${equality}\n${graphs.join('')}`
  );
}

/** `163 nodes on WebGpu, 32 on CPU (FusedMatMul 25, Concat 5)`: the operators of the smaller parts are named. */
export function placesLine(places: NodePlaces): string {
  const count = (operators: Readonly<Record<string, number>>): number =>
    Object.values(operators).reduce((sum, nodes) => sum + nodes, 0);
  const [most, ...others] = Object.entries(places).sort(([, a], [, b]) => count(b) - count(a));
  if (!most) return 'not run';
  const named = ([provider, operators]: [string, Readonly<Record<string, number>>]): string => {
    const sorted = Object.entries(operators).sort(([, a], [, b]) => b - a);
    return `${count(operators)} on ${provider} (${sorted.map(([name, nodes]) => `${name} ${nodes}`).join(', ')})`;
  };
  return [`${count(most[1])} nodes on ${most[0]}`, ...others.map(named)].join(', ');
}
