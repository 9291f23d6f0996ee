/** What speaks for one definition of a name rather than another, without the model: imports, the receiver, where it lies, its kind. */
import type { IndexedDefinition, Language } from '../memory/index.js';
import { isSelf, type Import, type UseContext } from './use-context.js';

export interface Use {
  readonly identifier: string;
  readonly path: string;
  readonly language: Language;
  readonly context: UseContext;
}

/** Chosen by reason, then measured (docs/measurements); only their order of size matters. */
const weights = {
  named: 4,
  namedFolder: 2.5,
  namedElsewhere: -1,
  receiverModule: 3,
  receiverClass: 2.5,
  receiverLike: 1.2,
  ownClass: 3,
  classNear: 1.5,
  classMentioned: 0.8,
  fileImported: 1,
  sameFolder: 0.6,
  sharedFolder: 0.2,
  otherPackage: -2,
  sameLanguage: 1,
  otherLanguage: -0.5,
  notCode: -1,
  memberKind: 0.8,
  strayMember: -1.2,
  constructed: 1,
  test: -0.6,
} as const;

export interface Signals {
  readonly score: number;
  /** Something in the file says that it is this definition: an import, the receiver, the class around. */
  readonly isEvident: boolean;
  /** An import names it, and names another place. */
  readonly isElsewhere: boolean;
}

export function signalsOf(definition: IndexedDefinition, use: Use): Signals {
  const { context, identifier } = use;
  const { receiver, imports, classes } = context;
  const path = moduleOf(definition.path);
  let evidence = 0;

  const naming = imports.filter(one => one.names.has(identifier));
  if (!context.isMember && naming.length > 0) {
    const best = Math.max(...naming.map(one => matchOf(one, path, use.path)));
    evidence = best === 2 ? weights.named : best === 1 ? weights.namedFolder : weights.namedElsewhere;
  }
  if (receiver !== undefined && !isSelf(receiver)) {
    const alias = imports.some(one => one.names.has(receiver) && matchOf(one, path, use.path) > 0);
    const stem = path.at(-1) === receiver.toLowerCase();
    if (definition.container !== undefined && bare(definition.container) === bare(receiver))
      evidence += weights.receiverClass;
    else if (definition.container !== undefined && isLike(definition.container, receiver))
      evidence += weights.receiverLike;
    else if (definition.container === undefined && (stem || alias)) evidence += weights.receiverModule;
  }
  if (isSelf(receiver) && definition.container !== undefined && classes.includes(definition.container)) {
    evidence += weights.ownClass;
  }

  let score = evidence;
  if (definition.container !== undefined) {
    if (context.near.has(definition.container)) score += weights.classNear;
    else if (context.mentioned.has(definition.container)) score += weights.classMentioned;
  }
  if (imports.some(one => matchOf(one, path, use.path) === 2)) score += weights.fileImported;
  score += nearness(definition.path, use.path);
  score += languageScore(definition, use.language);
  const isMemberKind = definition.kind === 'method' || definition.kind === 'field';
  if (context.isMember && isMemberKind) score += weights.memberKind;
  // Where a method needs no receiver, it is one of the class around.
  if (!context.isMember && isMemberKind && !classes.includes(definition.container ?? '') && evidence <= 0)
    score += weights.strayMember;
  // A package of Go is a folder, and names of another one are written after its name.
  if (use.language.family === 'go' && !context.isMember && !isSameFolder(definition.path, use.path))
    score += weights.otherPackage;
  if (context.isConstruction && definition.kind === 'class') score += weights.constructed;
  if (isTest(definition.path) && !isTest(use.path)) score += weights.test;
  return { score, isEvident: evidence >= weights.receiverClass, isElsewhere: evidence < 0 };
}

/** 2: the file itself; 1: a folder it is in; 0: neither. `from`: the file that imports. */
function matchOf({ module, names, up }: Import, path: readonly string[], from: string): 0 | 1 | 2 {
  const stem = path.at(-1);
  if (stem === undefined) return 0;
  if (module.at(-1) === stem && module.every((part, at) => agrees(path, module.length, at, part))) return 2;
  // `from package import module`, `import module`; a class in a file of its name.
  if ([...names].some(name => name.toLowerCase() === stem) && (module.length === 0 || path.includes(module.at(-1)!)))
    return 2;
  if (up !== undefined) {
    const folders = from.toLowerCase().split('/').slice(0, -1);
    return folders.slice(0, Math.max(0, folders.length - up)).every((folder, at) => folder === path[at]) ? 1 : 0;
  }
  return module.length > 0 && path.slice(0, -1).includes(module.at(-1)!) ? 1 : 0;
}

/** Whether part `at` of a module with `length` parts is that of the path's end, or is before the path's begin. */
function agrees(path: readonly string[], length: number, at: number, part: string): boolean {
  const own = path[path.length - length + at];
  // The first parts may be a package's name or an alias of a folder.
  return own === undefined || own === part || at < length - 2;
}

/** Segments of a path, lower case, without extension; files that stand for their folder have its name. */
function moduleOf(path: string): string[] {
  const parts = path
    .replace(/(?:\.d)?\.[^./]+$/, '')
    .toLowerCase()
    .split('/');
  if (parts.length > 1 && /^(?:index|__init__|mod|lib|main)$/.test(parts.at(-1)!)) parts.pop();
  return parts;
}

function nearness(a: string, b: string): number {
  const [first, second] = [a.split('/').slice(0, -1), b.split('/').slice(0, -1)];
  let shared = 0;
  while (shared < Math.min(first.length, second.length) && first[shared] === second[shared]) shared++;
  return (isSameFolder(a, b) ? weights.sameFolder : 0) + Math.min(3, shared) * weights.sharedFolder;
}

function isSameFolder(a: string, b: string): boolean {
  return a.slice(0, a.lastIndexOf('/') + 1) === b.slice(0, b.lastIndexOf('/') + 1);
}

function languageScore({ kind, language }: IndexedDefinition, own: Language): number {
  if (kind === 'key' || kind === 'heading') return weights.notCode;
  return language.family === own.family ? weights.sameLanguage : weights.otherLanguage;
}

function isTest(path: string): boolean {
  return /(?:^|[/._-])(?:tests?|specs?|__tests__|fixtures?|mocks?|examples?)(?:[/._-]|$)/i.test(path);
}

function bare(name: string): string {
  return name.replace(/_/g, '').toLowerCase();
}

function isLike(container: string, receiver: string): boolean {
  const [class_, own] = [bare(container), bare(receiver)];
  return own.length >= 4 && (class_.endsWith(own) || own.endsWith(class_));
}
