/** How a line tells that it defines something: patterns on a trimmed line, and the scopes they hold in. Never looks at other lines. */
import type { DefinitionKind, Family } from './definition.js';

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
  /** Global; each of its matches on the line names one more definition of the scope, of the rule's kind, or a field. */
  readonly fields?: RegExp;
}

const file: readonly ScopeKind[] = ['file'];
const member: readonly ScopeKind[] = ['class'];
const both: readonly ScopeKind[] = ['file', 'class'];

const body: readonly ScopeKind[] = ['function'];

export const within = { file, member, both, body } as const;

const words = (text: string): ReadonlySet<string> => new Set(text.split(' '));

const often =
  'if else for while do switch case catch return throw new delete try finally with function class in import default super this';
const braces =
  'if else for while do switch case catch return throw new delete typeof sizeof alignof decltype try finally with when match def where ' +
  'goto await yield assert defined function class struct enum import export package using in is super this self constructor default ' +
  'static public private protected const var let fn func fun type impl';

/** Words of each family that begin a statement and never name what is defined; others are names: `end`, `print`, `from`. */
const reservedOf: Readonly<Partial<Record<Family, ReadonlySet<string>>>> = {
  script: words(`${often} typeof await yield export constructor static public private protected let const var`),
  python: words(
    'if else elif for while return try finally except with class def in is not and or import from pass break continue raise assert ' +
      'lambda global nonlocal yield await async del None True False',
  ),
  go: words(
    'break case chan const continue default defer else fallthrough for func go goto if import interface map package range return ' +
      'select struct switch type var',
  ),
  rust: words(braces),
  curly: words(braces),
  c: words(braces),
};
const otherReserved = words(
  `${often} elif typeof await yield when unless until loop match def end begin then is not and or from export package using sizeof ` +
    'defined assert print lambda pass break continue raise except self constructor static public private protected let const var where',
);

export function reservedIn(family: Family): ReadonlySet<string> {
  return reservedOf[family] ?? otherReserved;
}
