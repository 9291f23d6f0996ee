/** How a line tells that it defines something: patterns on a trimmed line, and the scopes they hold in. Never looks at other lines. */
import type { DefinitionKind } from './definition.js';

/** What the lines below a line, deeper than it, are part of. `typed`: an object whose fields its declared type defines. `other`: nothing that other files can name. */
export type ScopeKind = 'file' | 'class' | 'enum' | 'object' | 'typed' | 'group' | 'parameters' | 'function' | 'other';

export interface LineRule {
  /** On the trimmed line; group `name` is what it defines, group `in` the class it says it belongs to. */
  readonly pattern: RegExp;
  /** Missing: the line defines nothing and only opens a scope. */
  readonly kind?: DefinitionKind;
  readonly within: readonly ScopeKind[];
  /** What the deeper lines below it are; `other` if not given. */
  readonly opens?: ScopeKind;
  /** A keyword stands before the name, so that it is one whatever it means in other languages: `function not`. */
  readonly declares?: boolean;
  /** Global; each of its matches on the line names one more field of the scope. */
  readonly fields?: RegExp;
}

const file: readonly ScopeKind[] = ['file'];
const member: readonly ScopeKind[] = ['class'];
const both: readonly ScopeKind[] = ['file', 'class'];

const body: readonly ScopeKind[] = ['function'];

export const within = { file, member, both, body } as const;

/** Words that begin a statement and never name what is defined. */
export const notNames = new Set(
  (
    'if else elif for while do switch case catch return throw new delete typeof await yield try finally with when unless until loop match ' +
    'function class def end begin then in is not and or import from export default package using sizeof alignof decltype defined assert ' +
    'print lambda pass break continue raise except super this self constructor __init__ static public private protected let const var where'
  ).split(' '),
);

/** The same for JavaScript and TypeScript alone: `match` and `print` are names of methods there. */
export const notScriptNames = new Set(
  (
    'if else for while do switch case catch return throw new delete typeof await yield try finally with function class in import ' +
    'export default super this constructor static public private protected let const var'
  ).split(' '),
);
