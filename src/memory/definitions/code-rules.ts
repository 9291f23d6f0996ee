/** Python, Go, Rust, Ruby, shell, and a few words that define things in many other languages. */
import { within, type LineRule } from './line-rule.js';

/** The rest of a list of names that a line begins with. */
const others = /(?<=^(?:\w+\s*,\s*)+)(?<name>[A-Za-z]\w*)/g;

export const pythonRules: readonly LineRule[] = [
  {
    pattern: /^(?:async\s+)?def\s+(?<name>\w+)/,
    kind: 'function',
    within: within.both,
    opens: 'function',
    declares: true,
  },
  { pattern: /^class\s+(?<name>\w+)/, kind: 'class', within: within.both, opens: 'class' },
  { pattern: /^type\s+(?<name>\w+)\s*[=[]/, kind: 'type', within: within.file },
  { pattern: /^(?<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)/, kind: 'constant', within: within.file },
  { pattern: /^(?<name>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)/, kind: 'field', within: within.member },
  { pattern: /^(?<name>[A-Za-z_]\w*)\s*:\s*[^\s=]/, kind: 'field', within: within.member },
  {
    pattern: /^(?<name>[A-Za-z_]\w*)(?:\s*,\s*[A-Za-z_]\w*)+\s*=(?!=)/,
    kind: 'constant',
    within: within.both,
    fields: /(?<=^(?:\w+\s*,\s*)+)(?<name>[A-Za-z]\w*)(?=[\s\w,]*=(?!=))/g,
  },
];

export const goRules: readonly LineRule[] = [
  {
    pattern: /^func\s+\(\s*(?:\w+\s+)?\*?(?<in>\w+)[^)]*\)\s*(?<name>\w+)/,
    kind: 'method',
    within: within.file,
    opens: 'function',
    declares: true,
  },
  { pattern: /^func\s+(?<name>\w+)/, kind: 'function', within: within.file, opens: 'function', declares: true },
  {
    pattern: /^type\s+(?<name>\w+)(?:\[.*\])?\s+(?:struct|interface)\b/,
    kind: 'type',
    within: within.file,
    opens: 'class',
  },
  { pattern: /^type\s+(?<name>\w+)/, kind: 'type', within: within.file },
  {
    pattern: /^(?:const|var)\s+(?<name>\w+)/,
    kind: 'constant',
    within: within.file,
    fields: /(?<=^(?:const|var)\s+(?:\w+\s*,\s*)+)(?<name>[A-Za-z]\w*)/g,
  },
  { pattern: /^(?:const|var|type)\s*\($/, within: within.file, opens: 'group' },
  { pattern: /^(?<name>[A-Za-z_]\w*)\s+(?:struct|interface)\b/, kind: 'type', within: ['group'], opens: 'class' },
  {
    pattern: /^(?<name>[A-Za-z_]\w*)(?:\s*$|\s*,|\s+[^(])/,
    kind: 'constant',
    within: ['group'],
    fields: others,
  },
  { pattern: /^(?<name>[A-Za-z_]\w*)\s*\(/, kind: 'method', within: within.member },
  {
    pattern: /^(?<name>[A-Za-z_]\w*)(?:,\s*\w+)*\s+[\w*[\]]/,
    kind: 'field',
    within: within.member,
    fields: others,
  },
];

export const rustRules: readonly LineRule[] = [
  {
    pattern:
      /^(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:(?:async|const|unsafe|extern(?:\s+"[^"]*")?)\s+)*fn\s+(?<name>\w+)/,
    kind: 'function',
    within: within.both,
    opens: 'function',
  },
  {
    pattern: /^(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|union|trait)\s+(?<name>\w+)/,
    kind: 'class',
    within: within.file,
    opens: 'class',
  },
  { pattern: /^(?:pub(?:\([^)]*\))?\s+)?enum\s+(?<name>\w+)/, kind: 'type', within: within.file, opens: 'enum' },
  { pattern: /^(?:pub(?:\([^)]*\))?\s+)?type\s+(?<name>\w+)/, kind: 'type', within: within.both },
  {
    pattern: /^(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\s+(?:mut\s+)?(?<name>\w+)\s*:/,
    kind: 'constant',
    within: within.both,
  },
  { pattern: /^(?:pub(?:\([^)]*\))?\s+)?mod\s+(?<name>\w+)\s*\{/, kind: 'module', within: within.file, opens: 'file' },
  { pattern: /^macro_rules!\s*(?<name>\w+)/, kind: 'function', within: within.file },
  {
    pattern: /^(?:unsafe\s+)?impl\b(?:\s*<.*?>)?\s+(?:.*\sfor\s+)?&?(?:\w+::)*(?<in>\w+)/,
    within: within.file,
    opens: 'class',
  },
  { pattern: /^(?:pub(?:\([^)]*\))?\s+)?(?<name>[a-z_]\w*)\s*:\s*[^:]/, kind: 'field', within: within.member },
  { pattern: /^(?<name>[A-Z]\w*)\s*(?:[,({=]|$)/, kind: 'constant', within: ['enum'] },
];

export const rubyRules: readonly LineRule[] = [
  {
    pattern: /^(?:(?:private|protected|public|module_function|memoize)\s+)*def\s+(?:self\.)?(?<name>\w+[?!=]?)/,
    kind: 'function',
    within: within.both,
    opens: 'function',
  },
  { pattern: /^class\s+(?:\w+::)*(?<name>[A-Z]\w*)/, kind: 'class', within: within.both, opens: 'class' },
  { pattern: /^class\s*<<\s*self/, within: within.member, opens: 'class' },
  { pattern: /^module\s+(?:\w+::)*(?<name>[A-Z]\w*)/, kind: 'module', within: within.both, opens: 'class' },
  { pattern: /^(?<name>[A-Z]\w*)\s*=(?![=~])/, kind: 'constant', within: within.both },
  {
    pattern:
      /^(?:attr_accessor|attr_reader|attr_writer|has_many|has_one|belongs_to|scope|define_method)\s*\(?\s*:(?<name>\w+)/,
    kind: 'field',
    within: within.member,
  },
];

export const shellRules: readonly LineRule[] = [
  { pattern: /^function\s+(?<name>[\w:-]+)/, kind: 'function', within: within.file, opens: 'function' },
  { pattern: /^(?<name>[\w:-]+)\s*\(\)/, kind: 'function', within: within.file, opens: 'function' },
  {
    pattern: /^(?:(?:export|readonly|declare|typeset)\s+(?:-\w+\s+)*)?(?<name>[A-Za-z_]\w*)\+?=/,
    kind: 'constant',
    within: within.file,
  },
];

export const otherRules: readonly LineRule[] = [
  {
    pattern:
      /^(?:(?:pub|export|local|private|public|static|async|inline)\s+)*(?:function!?|fn|func|fun|def|defp|defmacro|sub|proc|macro|rpc)\s+(?:[\w]+[.:])?(?<name>\w+[?!]?)/i,
    kind: 'function',
    within: within.both,
    opens: 'function',
  },
  {
    pattern:
      /^(?:(?:pub|export|public|abstract|input)\s+)*(?:class|struct|enum|union|interface|trait|module|defmodule|message|service|type|scalar)\s+(?:\w+\.)*(?<name>[A-Z]\w*)/,
    kind: 'class',
    within: within.both,
    opens: 'class',
  },
  {
    pattern:
      /^create\s+(?:or\s+replace\s+)?(?:temp(?:orary)?\s+)?(?:unique\s+)?(?:table|view|materialized\s+view|function|procedure|index|trigger|type)\s+(?:if\s+not\s+exists\s+)?(?:["`[]?\w+["`\]]?\.)?["`[]?(?<name>\w+)/i,
    kind: 'type',
    within: within.file,
  },
  { pattern: /^(?:ARG|ENV)\s+(?<name>[A-Z_]\w*)/, kind: 'constant', within: within.file },
  { pattern: /^(?<name>[A-Za-z_][\w-]*)\s*:(?![=:])(?=\s|$)/, kind: 'function', within: within.file },
  {
    pattern: /^(?:local\s+|const\s+)?(?<name>[A-Za-z_]\w*)\s*(?::|\?|\+)?=(?![=>~])/,
    kind: 'constant',
    within: within.file,
  },
];
