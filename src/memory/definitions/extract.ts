/**
 * The definitions of one text by the start of its lines and their indentation: no parser, any language. What only its own
 * function can name (a local) is left out. Never looks inside comments and strings of several lines.
 */
import { indentOf } from '../indentation.js';
import { allGroupsIn, groupsIn, seenText, type SeenText } from './any-letters.js';
import { cRules, curlyRules } from './curly-rules.js';
import { goRules, otherRules, pythonRules, rubyRules, rustRules, shellRules } from './code-rules.js';
import { dataDefinitions, headingDefinitions } from './data-definitions.js';
import { MAX_DEFINITIONS, languageOf, owned, type Definition } from './definition.js';
import { reservedIn, type LineRule, type ScopeKind } from './line-rule.js';
import { insideOf } from './inside.js';
import { likelyDefinitions, type CodeFamily } from './likely.js';
import { scriptRules } from './script-rules.js';

/** Of a longer line only the start is looked at: the rest was not written by hand. */
const MAX_LINE = 500;

const rulesOf: Readonly<Record<CodeFamily, readonly LineRule[]>> = {
  python: pythonRules,
  script: scriptRules,
  go: goRules,
  rust: rustRules,
  curly: curlyRules,
  c: cRules,
  ruby: rubyRules,
  shell: shellRules,
  other: otherRules,
};

const comment = /^(?:\/\/|\/\*|\*|#(?!\s*define\b)|--\s|;|%)/;
const scriptComment = /^(?:\/\/|\/\*|\*(?!\s*[\w$]+\s*\()|@|#!)/;
const closing = /^(?:[)\]}>{]|end\b|fi\b|done\b|esac\b)/;
/** Lines whose deeper lines are still part of what is around them. */
const transparent =
  /^(?:if|else|elif|try|except|finally|with|for|while|do\b|unless|when|begin|#|public|private|protected|template)/;
const anyName = /^~?[\p{L}_$][\p{L}\p{M}\p{N}_$:?!=-]*$/u;

interface Scope {
  readonly indent: number;
  readonly kind: ScopeKind;
  readonly name?: string;
}

/** In the order of their lines. */
export function definitionsOf(path: string, lines: readonly string[]): Definition[] {
  const { id, family } = languageOf(path);
  if (family === 'prose') return headingDefinitions(lines);
  if (family === 'data') return dataDefinitions(id, lines);
  return codeDefinitions(family, lines, codeOf(family, lines));
}

export interface Listing {
  /** As `definitionsOf` gives them. */
  readonly definitions: readonly Definition[];
  /** Other names of the text and the line where each looks defined (from 1). */
  readonly likely: ReadonlyMap<string, number>;
}

export function listingOf(path: string, lines: readonly string[]): Listing {
  const { family } = languageOf(path);
  if (family === 'prose' || family === 'data') return { definitions: definitionsOf(path, lines), likely: new Map() };
  const code = codeOf(family, lines);
  const definitions = codeDefinitions(family, lines, code);
  const known = new Set(definitions.map(({ name }) => name));
  return { definitions, likely: likelyDefinitions(family, code, known) };
}

/** The trimmed start of each line [L]; empty where it is a comment or the inside of a string. */
function codeOf(family: CodeFamily, lines: readonly string[]): string[] {
  const inside = insideOf(family, lines);
  const isComment = family === 'script' ? scriptComment : comment;
  return lines.map((line, at) => {
    if (inside[at]) return '';
    const text = (line.length > MAX_LINE ? line.slice(0, MAX_LINE) : line).trim();
    return isComment.test(text) && !(family === 'rust' && text.startsWith('#[')) ? '' : text;
  });
}

function codeDefinitions(family: CodeFamily, lines: readonly string[], code: readonly string[]): Definition[] {
  const rules = rulesOf[family];
  const reserved = reservedIn(family);
  const out: Definition[] = [];
  const scopes: Scope[] = [{ indent: -1, kind: 'file' }];
  for (let at = 0; at < lines.length && out.length < MAX_DEFINITIONS; at++) {
    const line = lines[at]!;
    const text = code[at]!;
    if (text === '') continue;
    const indent = indentOf(line);
    const isDirective = indent < 0;
    if (isDirective && !text.startsWith('#')) continue;
    const isClosing = closing.test(text);
    // Neither changes what the lines after it are part of.
    const isAside = isDirective || isClosing;
    if (!isAside) while (scopes.length > 1 && scopes.at(-1)!.indent >= indent) scopes.pop();
    const scope = isAside ? scopes[0]! : scopes.at(-1)!;
    const seen = seenText(text);
    const match = isClosing && (family !== 'c' || indent > 0) ? undefined : matching(rules, seen, scope.kind, reserved);
    const name = match?.name;
    const container = match?.within ?? (scope.kind === 'file' ? undefined : scope.name);
    if (match?.rule.kind && name !== undefined) {
      const kind = match.rule.kind === 'function' && container !== undefined ? 'method' : match.rule.kind;
      out.push({ name: owned(name), kind, line: at + 1, ...(container === undefined ? {} : { container }) });
    }
    for (const field of match?.rule.fields === undefined ? [] : allGroupsIn(match.rule.fields, seen)) {
      out.push({
        name: owned(field['name']!),
        kind: match?.rule.kind ?? 'field',
        line: at + 1,
        ...(container === undefined ? {} : { container }),
      });
    }
    if (isAside) continue;
    const isOfScope = match?.rule.opens === 'parameters' || scope.kind === 'function';
    const scopeName = name ?? match?.within ?? (isOfScope ? scope.name : undefined);
    if (match) {
      const kind = match.rule.opens ?? 'other';
      scopes.push({ indent, kind, ...(scopeName === undefined ? {} : { name: owned(scopeName) }) });
    } else if (transparent.test(text) && scope.kind !== 'function') scopes.push({ ...scope, indent });
    else scopes.push({ indent, kind: 'other' });
  }
  return out;
}

function matching(
  rules: readonly LineRule[],
  text: SeenText,
  scope: ScopeKind,
  reserved: ReadonlySet<string>,
): { rule: LineRule; name?: string; within?: string } | undefined {
  if (scope === 'other') return undefined;
  for (const rule of rules) {
    if (!rule.within.includes(scope)) continue;
    const groups = groupsIn(rule.pattern, text);
    if (!groups) continue;
    const name = groups['name'];
    if (name !== undefined && ((reserved.has(name) && !rule.declares) || !anyName.test(name))) continue;
    return { rule, name, within: groups['in'] };
  }
  return undefined;
}
