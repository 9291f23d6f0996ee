/**
 * What stands around a use of a name: what is before its dot, what the file imports, which class it is in, whether the name
 * is bound nearby. By patterns on text, for any language; what they miss only costs order, never truth.
 */

export interface Import {
  /** Segments of what is imported from, lower case, without dots and extension: `./lib/a.js` → lib, a. */
  readonly module: readonly string[];
  /** Of the face of a folder, `./index.js`, `..`, `from . import`: how many folders it is above the file's own. */
  readonly up?: number;
  /** Identifiers of the statement. */
  readonly names: ReadonlySet<string>;
}

export interface UseContext {
  /** After a dot, `::` or `->`. */
  readonly isMember: boolean;
  /** The name before the dot, where it is one. */
  readonly receiver?: string;
  readonly isConstruction: boolean;
  readonly imports: readonly Import[];
  /** The class around it and what it extends, nearest first. */
  readonly classes: readonly string[];
  /** Identifiers of the lines just before, and of the file. */
  readonly near: ReadonlySet<string>;
  readonly mentioned: ReadonlySet<string>;
  /** Assigned, declared or taken as a parameter in the text before. */
  readonly isBound: boolean;
  /** Bound only as a part of something else, `const { name } = options`, whose field it is. */
  readonly isTakenApart: boolean;
}

const importLine =
  /^\s*(?:from\s+\S+\s+import\b|import\b|export\s+.*\bfrom\b|export\s*\{|(?:const|let|var)\s.*\b(?:require|await\s+import)\s*\(|#\s*include\b|(?:pub\s+)?use\s|using\s|require(?:_relative)?\s*\(?\s*['"]|source\s|\.\s+\S|@use\b|load\s*\()/;
/** `const {` that is closed on a later line: perhaps of what `require` gives. */
const openPattern = /^\s*(?:const|let|var)\s*\{[^}]*$/;
const statementLines = 80;
const nearCharacters = 600;
const parentNames = new Set(['super', 'base', 'parent']);
const selfNames = new Set(['self', 'this', 'cls', ...parentNames]);

/** `before` ends with the identifier; `text` is the file's, for its imports. */
export function useContext(identifier: string, before: string, text: string): UseContext {
  const left = before.slice(0, before.length - identifier.length);
  const dot = /([\p{L}\p{M}\p{N}_$]+|[)\]}"'`])?\s*(?:\?\.|!\.|(?<!\.)\.|::|->)[ \t]*$/u.exec(left);
  // Python's `super().name`.
  const isParentCall = dot !== null && /(?<![\w$.])super\s*\([^()]*\)\s*\.[ \t]*$/.test(left);
  const called = isParentCall ? 'super' : dot?.[1];
  const receiver = called !== undefined && /^[\p{L}_$]/u.test(called) ? called : undefined;
  return {
    isMember: dot !== null,
    ...(receiver === undefined ? {} : { receiver }),
    isConstruction: /\bnew\s+$/.test(left),
    imports: importsOf(text),
    classes: classesAround(left),
    near: namesOf(left.slice(-nearCharacters)),
    mentioned: namesOf(text),
    ...(dot === null ? bindingOf(identifier, left) : { isBound: false, isTakenApart: false }),
  };
}

function namesOf(text: string): ReadonlySet<string> {
  return new Set(text.match(/[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu));
}

export function isSelf(receiver: string | undefined): boolean {
  return receiver !== undefined && selfNames.has(receiver);
}

/** What follows is not the own class's. */
export function isParent(receiver: string | undefined): boolean {
  return receiver !== undefined && parentNames.has(receiver);
}

export function importsOf(text: string): Import[] {
  return statementsOf(text.split(/\r?\n/)).imports.flatMap(statement => {
    const parts = /^\s*import\s*\(\n/.test(statement) ? statement.split('\n').slice(1, -1) : [statement];
    return parts.map(importOf);
  });
}

/** The text without its statements that import. */
export function withoutImports(text: string): string {
  return statementsOf(text.split(/\r?\n/)).rest.join('\n');
}

/** The statements that import, each whole, and the lines of everything else. */
function statementsOf(lines: readonly string[]): { imports: string[]; rest: string[] } {
  const imports: string[] = [];
  const rest: string[] = [];
  for (let at = 0; at < lines.length; at++) {
    const first = lines[at]!;
    const isPattern = openPattern.test(first);
    if (first.length > 400 || !(isPattern || importLine.test(first))) {
      rest.push(first);
      continue;
    }
    let statement = first;
    let end = at;
    let depth = depthOf(first);
    for (let more = 0; more < statementLines && depth > 0 && end + 1 < lines.length; more++) {
      const line = lines[++end]!;
      statement += `\n${line}`;
      depth += depthOf(line);
    }
    if (isPattern && !/\}\s*=\s*(?:await\s+import|require)\s*\(/.test(statement)) {
      rest.push(first);
      continue;
    }
    imports.push(statement);
    at = end;
  }
  return { imports, rest };
}

function importOf(statement: string): Import {
  const quoted = /["'<]([^"'<>]+)["'>]/.exec(statement)?.[1];
  const path =
    quoted ??
    /^\s*(?:from|import|use|pub\s+use|using(?:\s+static)?|source|\.)\s+([\w.:\\/$-]+)/.exec(statement)?.[1] ??
    '';
  const module = path
    .replace(/\.(?:[cm]?[jt]sx?|py|rb|sh|h|hpp|hh|php|json|ya?ml|vue|svelte)$/, '')
    .split(/[./\\:]+/)
    .filter(part => part !== '')
    .map(part => part.toLowerCase());
  const up = upOf(path);
  return {
    module,
    ...(up === undefined ? {} : { up }),
    names: new Set(statement.match(/[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu) ?? []),
  };
}

function upOf(path: string): number | undefined {
  const script = /^(?:\.\/?|(?:\.\.\/?)+)(?:(?<=\/)index(?:\.[cm]?[jt]sx?)?)?$/.exec(path)?.[0];
  if (script !== undefined) return script.split('..').length - 1;
  // Python's third dot is another folder up.
  return /^\.{3,}$/.test(path) ? path.length - 1 : undefined;
}

function depthOf(text: string): number {
  let depth = 0;
  for (const character of text) {
    if (character === '(' || character === '{') depth++;
    if (character === ')' || character === '}') depth--;
  }
  return depth;
}

/** By indentation: the nearest class line that stands less deep than the use. */
function classesAround(left: string): string[] {
  const lines = left.split('\n');
  let depth = /^\s*/.exec(lines.at(-1)!)![0].length;
  for (let at = lines.length - 2; at >= 0 && depth > 0; at--) {
    const line = lines[at]!;
    const indent = /^\s*/.exec(line)![0].length;
    if (line.trim() === '' || indent >= depth) continue;
    depth = indent;
    const head = /^\s*(?:[\w@]+\s+)*?(?:class|struct|trait|interface|impl(?:<.*?>)?|module|object)\s+(.*)$/.exec(
      line,
    )?.[1];
    if (head !== undefined) return head.match(/[\p{L}_$][\p{L}\p{M}\p{N}_$]*/gu) ?? [];
  }
  return [];
}

function bindingOf(identifier: string, left: string): { isBound: boolean; isTakenApart: boolean } {
  const name = identifier.replace(/[$]/g, '\\$&');
  // The line of the use itself counts as far as it goes: `(a, name) => name`.
  const text = withoutImports(left);
  const apart = `\\b(?:const|let|var)\\s+\\{[^}=]*(?<![\\w$.])${name}(?![\\w$])`;
  const patterns = [
    `\\b(?:const|let|var|val|my|local|auto)\\s+(?:mut\\s+)?(?:\\[[^\\]=]*)?(?<![\\w$.])${name}(?![\\w$])`,
    `(?:^|[\\n;{(])\\s*${name}\\s*(?::\\s*[\\w.\\[\\], |]+)?(?::=|=(?![=>]))`,
    `\\b(?:for|foreach)\\s*\\(?\\s*(?:const|let|var|auto)?\\s*(?:[\\w$]+\\s*,\\s*)*${name}\\b[^;\\n]*?\\s(?:in|of|:)\\s`,
    `\\b(?:as|catch\\s*\\(|except\\s+\\w+\\s+as|lambda\\s+(?:\\w+\\s*,\\s*)*)\\s*${name}\\b`,
    `(?:\\bdef|\\bfunction\\*?|\\bfn|\\bfunc|\\bfun)\\s*[\\w$]*\\s*(?:<[^>]*>)?\\((?:[^()]|\\([^()]*\\))*?(?<![\\w$.:])${name}\\s*(?:[,:=?)]|\\s\\w)`,
    `\\((?:[^()\\n]*,\\s*)?${name}\\s*(?::[^()\\n]*)?(?:,[^()\\n]*)?\\)\\s*(?::[^=\\n]*)?(?:=>|\\{)`,
    `(?<![\\w$.])${name}\\s*=>`,
  ];
  const isDeclared = patterns.some(pattern => new RegExp(pattern).test(text));
  const isTakenApart = !isDeclared && new RegExp(apart).test(text);
  return { isBound: isDeclared || isTakenApart, isTakenApart };
}
