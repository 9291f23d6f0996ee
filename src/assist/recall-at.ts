/**
 * The distant definitions of an identifier: found by name, ordered by the file's own signals and by the model's look-up
 * heads, shown only while their files are still the ones that were read. Writes nothing, and never claims more than it knows:
 * `one` means one definition of that name is known and nothing speaks against it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf, throwIfCancelled } from '../base/index.js';
import type { Definition, Family, FoundDefinitions, IndexedDefinition, WorkspaceMemory } from '../memory/index.js';
import { bindsAnywhere } from './binds.js';
import { signalsOf, type Signals, type Use } from './definition-signals.js';
import { isParent, isSelf, useContext, withoutImports } from './use-context.js';

export interface RecallAtRequest {
  readonly memory: WorkspaceMemory;
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly identifier: string;
  /** Text up to and including the identifier: may be unsaved. */
  readonly before: string;
  /** The editor's name of the language, for what the path does not tell it of. */
  readonly languageId?: string;
}

export interface RecallAtOptions {
  readonly signal?: AbortSignal;
  /** How long the list of definitions, and then the model, is waited for; without it as long as they take. */
  readonly patienceMs?: { readonly list: number; readonly model: number };
  /** Definitions shown at most; default 12. */
  readonly limit?: number;
}

export interface RecalledDefinition {
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly score: number;
  readonly name: string;
  readonly signature: string;
  readonly documentation?: string;
  readonly languageId: string;
  /** Exact text of the lines. */
  readonly text: string;
}

export interface RecallAtResult {
  /** Best first. */
  readonly candidates: readonly RecalledDefinition[];
  readonly certainty: 'one' | 'ranked' | 'none';
  readonly how: string;
  /** Files whose definitions are known. */
  readonly filesRead: number;
}

type Found = Omit<RecallAtResult, 'filesRead'>;

interface Weighed extends Signals {
  readonly definition: IndexedDefinition;
}

/** A name that looks defined in more files is a common word. */
const MOST_LIKELY = 12;
/** The model weighs the best of these by the other signals. */
const MOST_WEIGHED = 24;
/** What a nat of attention is worth beside the other signals, and how many count; measured (docs/measurements). */
const MODEL_WEIGHT = 0.5;
const MOST_NATS = 4;

export async function recallAt(request: RecallAtRequest, options: RecallAtOptions = {}): Promise<RecallAtResult> {
  const { memory, identifier } = request;
  const { signal, patienceMs } = options;
  const found = await memory.definitions.find(identifier, { signal, patienceMs: patienceMs?.list });
  return { ...(await among(found, request, options)), filesRead: found.files };
}

async function among(found: FoundDefinitions, request: RecallAtRequest, options: RecallAtOptions): Promise<Found> {
  const { memory, path, identifier, before, languageId } = request;
  const { signal, patienceMs, limit = 12 } = options;
  const { definitions } = memory;
  if (found.files === 0)
    return none(found.complete ? 'no file of this folder has been read yet' : 'the files are being listed');
  const language = definitions.languageOf(path, languageId);
  const listed = found.definitions.filter(
    one => one.path !== path && (found.exact || one.language.family !== language.family),
  );
  const likely = found.likely.filter(one => one.path !== path && one.language.family === language.family);
  const isLikely = likely.length > 0 && likely.length <= MOST_LIKELY && (listed.length === 0 || !found.exact);
  const distant = isLikely ? likely : listed;
  if (distant.length === 0) return none(`no definition of this name in ${filesOf(found)}`);

  const text = (await definitions.textOf(path)) ?? before;
  throwIfCancelled(signal);
  const context = useContext(identifier, before, text);
  const own = [
    ...found.definitions.filter(one => one.path === path),
    ...definitions.definitionsIn(path, before).filter(one => one.name === identifier),
  ];
  const isOwn = own.length > 0;
  // What an import names is not a method of the file's own, and hardly ever shadowed: bound is judged by patterns.
  const isImported = !context.isMember && context.imports.some(one => one.names.has(identifier));
  const mayMeanOwn = context.isMember ? isSelf(context.receiver) && !isParent(context.receiver) : !isImported;
  const isNamedHere = context.isMember || mayBeBare(own, language.family, identifier, before);
  if (isOwn && mayMeanOwn && isNamedHere) return none('defined in this file');
  if (context.isBound && !context.isTakenApart && !isImported) return none('bound in this file');

  const use: Use = { identifier, path, language, context };
  const weighed = distant.map(definition => ({ definition, ...signalsOf(definition, use) })).sort(byScore);
  if (isLikely) {
    const candidates = await shown(weighed, limit, memory, signal);
    if (candidates.length === 0) return none('the files that define it have changed since they were read');
    return { candidates, certainty: 'ranked', how: `only looks defined here, in ${filesOf(found)}` };
  }
  const isBound = !context.isMember && weighed.length === 1 && binds(identifier, text, before, language.family);
  const doubt = weighed.length === 1 ? doubtAbout(weighed[0]!, use, found, { isOwn, isImported, isBound }) : undefined;
  if (weighed.length === 1) {
    const candidates = await shown(weighed, 1, memory, signal);
    if (candidates.length === 0) return none('the file that defines it has changed since it was read');
    const only = `only definition of this name in ${filesOf(found)}`;
    if (doubt === undefined) return { candidates, certainty: 'one', how: only };
    return { candidates, certainty: 'ranked', how: found.exact ? `${only}, but ${doubt}` : doubt };
  }
  const { order, how } = await byModel(weighed, before, memory, patienceMs?.model, signal);
  const candidates = await shown(order, limit, memory, signal);
  if (candidates.length === 0) return none('the files that define it have changed since they were read');
  const counted = found.exact
    ? `${distant.length} definitions of this name in ${filesOf(found)}`
    : `no definition of exactly this name in ${filesOf(found)}, ${distant.length} that are written differently`;
  const also = isOwn ? '; this file defines one too' : '';
  return { candidates, certainty: 'ranked', how: `${counted}, ${how}${also}` };
}

/** In these languages a method is never named without what it belongs to. */
const needsReceiver: ReadonlySet<string> = new Set(['go', 'python', 'rust', 'script']);

/** Whether a name without a dot can be one of `own`: not a field, in many languages not a method, unless this is where it stands. */
function mayBeBare(own: readonly Definition[], family: string, identifier: string, before: string): boolean {
  const apart = own.filter(({ kind }) => kind !== 'field' && !(kind === 'method' && needsReceiver.has(family)));
  if (apart.length > 0) return true;
  const isMethod = own.some(({ kind }) => kind === 'method');
  return isMethod && family !== 'script'
    ? /\b(?:def|fn|func(?:\s*\([^()]*\))?)\s+$/.test(before.slice(0, before.length - identifier.length))
    : startsLine(identifier, before) && (family !== 'go' || standsInType(before));
}

/** Go: whether the nearest line that stands less deep begins a type, not a literal of one. */
function standsInType(before: string): boolean {
  const lines = before.split('\n');
  const depth = /^\s*/.exec(lines.at(-1)!)![0].length;
  const around = lines.findLast(line => line.trim() !== '' && /^\s*/.exec(line)![0].length < depth);
  return around !== undefined && /\b(?:struct|interface)\s*\{$/.test(around.trimEnd());
}

/** Whether nothing but modifiers and a quote stands before the name on its line. */
function startsLine(identifier: string, before: string): boolean {
  const line = before.slice(before.lastIndexOf('\n') + 1, before.length - identifier.length);
  return /^\s*(?:(?:public|private|protected|static|readonly|declare|get|set|async)\s+)*["'#]?$/.test(line);
}

/** Of the saved text, and of what stands before the use, which may not be saved. */
function binds(identifier: string, text: string, before: string, family: Family): boolean {
  return [text, before].some(one => bindsAnywhere(identifier, withoutImports(one), family));
}

/** Why the only definition of a name may not be what the use means. */
function doubtAbout(
  { definition, isEvident, isElsewhere }: Weighed,
  { identifier, language, context }: Use,
  found: FoundDefinitions,
  { isOwn, isImported, isBound }: { readonly isOwn: boolean; readonly isImported: boolean; readonly isBound: boolean },
): string | undefined {
  if (!found.exact) return `a name that is written differently in another language, in ${filesOf(found)}`;
  if (isOwn) return 'this file defines one too';
  if (!found.complete) return 'not all files are listed yet';
  if (definition.kind === 'key') return 'it is a key of a configuration file';
  if (definition.kind === 'heading') return 'it is a heading of a document';
  if (definition.language.family !== language.family) return 'in another language';
  if (isElsewhere) return 'this file imports the name from another place';
  if (context.isTakenApart && !isImported) return 'this file takes it from an object';
  if (isBound) return 'this file has a meaning of its own for the name';
  if (isEvident) return undefined;
  if (context.isMember) return 'what stands before the dot is not known';
  if (definition.kind === 'method' || definition.kind === 'field') return 'it belongs to a class';
  // A short word may be built into the language; a name of several words hardly is.
  const isDistinctive = /[\p{L}\p{N}]_[\p{L}\p{N}]|\p{Ll}\p{Lu}/u.test(identifier);
  const needsImport = language.family === 'python' || language.family === 'script';
  return needsImport && !isDistinctive ? 'this file does not import it' : undefined;
}

/** With the model's opinion where it comes in time. */
async function byModel(
  weighed: readonly Weighed[],
  before: string,
  memory: WorkspaceMemory,
  patienceMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<{ order: readonly Weighed[]; how: string }> {
  if (patienceMs === 0) return { order: weighed, how: 'ordered by imports and folders' };
  const best = weighed.slice(0, MOST_WEIGHED);
  const late = new AbortController();
  const stop = AbortSignal.any([late.signal, ...(signal ? [signal] : [])]);
  const wait = patienceMs === undefined;
  const weighing = memory.definitions.weigh(
    before,
    best.map(one => one.definition),
    { signal: stop, wait },
  );
  const waiting = wait ? [] : [sleep(patienceMs, 'late' as const, { ref: false })];
  const heads = await Promise.race([weighing, ...waiting]).catch((error: unknown) => {
    throwIfCancelled(signal);
    return codeOf(error) === 'not-found' ? ('missing' as const) : ('late' as const);
  });
  if (heads === 'late') {
    late.abort();
    weighing.catch(() => undefined);
    return { order: weighed, how: 'ordered by imports and folders: the model is busy' };
  }
  if (heads === undefined || heads === 'missing') {
    return { order: weighed, how: 'ordered by imports and folders: the model is not loaded' };
  }
  const opinion = opinionOf(heads);
  const order = best.map((one, at) => ({ ...one, score: one.score + MODEL_WEIGHT * opinion[at]! })).sort(byScore);
  return { order: [...order, ...weighed.slice(MOST_WEIGHED)], how: 'ordered by the model and by imports' };
}

/** Mean over heads of the log mass above the heads' mean, within bounds. */
export function opinionOf(heads: readonly (readonly number[])[]): number[] {
  const count = heads[0]?.length ?? 0;
  const sums = new Array<number>(count).fill(0);
  for (const head of heads) {
    const finite = head.filter(Number.isFinite);
    const mean = finite.reduce((sum, value) => sum + value, 0) / Math.max(1, finite.length);
    head.forEach((value, at) => (sums[at]! += (Number.isFinite(value) ? value - mean : 0) / heads.length));
  }
  return sums.map(sum => Math.max(-MOST_NATS, Math.min(MOST_NATS, sum)));
}

async function shown(
  weighed: readonly Weighed[],
  limit: number,
  memory: WorkspaceMemory,
  signal: AbortSignal | undefined,
): Promise<RecalledDefinition[]> {
  const out: RecalledDefinition[] = [];
  for (const { definition, score } of weighed) {
    throwIfCancelled(signal);
    if (out.length >= limit) break;
    const text = await memory.definitions.show(definition);
    if (!text) continue;
    const { path, name, language } = definition;
    const { startLine, endLine, signature, documentation } = text;
    out.push({
      ...{ path, startLine, endLine, score, name, signature },
      ...(documentation === undefined ? {} : { documentation }),
      languageId: language.id,
      text: text.text,
    });
  }
  return out;
}

function byScore(a: Weighed, b: Weighed): number {
  return b.score - a.score;
}

function none(how: string): Found {
  return { candidates: [], certainty: 'none', how };
}

function filesOf({ files }: FoundDefinitions): string {
  return `${files.toLocaleString('en-US')} ${files === 1 ? 'file' : 'files'} read`;
}
