/**
 * Names that stand where definitions do, in any scope: after a word that declares, before `=` or `:`, before a parameter list
 * and a brace. For names that the line rules do not list anywhere; never for certainty. No parser.
 */
import { allGroupsIn, seenText } from './any-letters.js';
import { MAX_DEFINITIONS, owned, type Family } from './definition.js';
import { reservedIn } from './line-rule.js';

export type CodeFamily = Exclude<Family, 'data' | 'prose'>;

/** After a word that declares, wherever on the line. */
const declared = String.raw`(?<![\w$.])(?:function\s*\*?|class|interface|struct|enum|union|trait|object|protocol|record|type|module|namespace|def|defp|fn|func(?:\s*\([^()]*\))?|fun|sub|macro|const|let|var|val|static|mod)\s+(?:mut\s+)?(?<declared>[A-Za-z_$][\w$]*)`;
/** A key or a target: first on the line, after a dot, or after what opens or divides a literal. */
const target = String.raw`(?:^|[.{,(;]\s*)(?:["'#@]\s*)?(?<target>[A-Za-z_$][\w$]*)["']?\s*(?::(?![:=])|:?=(?![=>~]))`;
/** In Python a name before `=` or `:` between brackets is an argument. */
const pythonTarget = String.raw`(?:^|^(?:self|cls)\s*\.\s*)(?<target>[A-Za-z_]\w*)\s*(?::[^=]*)?=(?!=)`;
/** A type and a name: `int count = 0;`, `Options options;`. */
const typed = String.raw`[\w>\])*&?,]\s+[*&]*(?<typed>[A-Za-z_$][\w$]*)\s*(?:\[[^\]]*\]\s*)?(?:=(?![=>])|;$|,$)`;
const method = String.raw`^(?:[\w$<>*&,.:?]+\s+)*?[*&#]?(?<method>[A-Za-z_$][\w$]*)\s*\([^;{]*\)[^;{()]*\{`;

/** Go's field: `depth int`, `depth, width int`. */
const goField = String.raw`^(?<typed>[A-Za-z_]\w*)\s+[\w*[\]]`;

const any = new RegExp(`${declared}|${target}|${method}`, 'g');
const patterns: Readonly<Record<CodeFamily, RegExp>> = {
  script: any,
  rust: any,
  go: new RegExp(`${declared}|${target}|${goField}|${method}`, 'g'),
  other: any,
  ruby: any,
  shell: any,
  python: new RegExp(`${declared}|${pythonTarget}`, 'g'),
  curly: new RegExp(`${declared}|${target}|${typed}|${method}`, 'g'),
  c: new RegExp(`${declared}|${target}|${typed}|${method}`, 'g'),
};

/** Name → its first line (from 1) of those that look like one; `known` are left out. `code`: trimmed lines [L]. */
export function likelyDefinitions(
  family: CodeFamily,
  code: readonly string[],
  known: ReadonlySet<string>,
): Map<string, number> {
  const found = new Map<string, number>();
  const pattern = patterns[family];
  const reserved = reservedIn(family);
  for (let at = 0; at < code.length && found.size < MAX_DEFINITIONS; at++) {
    for (const groups of allGroupsIn(pattern, seenText(code[at]!))) {
      const name = groups['declared'] ?? groups['target'] ?? groups['typed'] ?? groups['method']!;
      if (known.has(name) || found.has(name) || reserved.has(name)) continue;
      found.set(owned(name), at + 1);
    }
  }
  return found;
}
