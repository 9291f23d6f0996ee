/** C and C++; Java, Kotlin, Scala, Groovy, Swift, Dart, C#, PHP. */
import { within, type LineRule } from './line-rule.js';

const statement =
  '(?!(?:return|else|if|for|while|switch|throw|new|delete|case|goto|using|typedef|await|yield|import|package)\\b)';
const type = String.raw`[\w:.<>,?&*~\[\]\s]`;

export const cRules: readonly LineRule[] = [
  { pattern: /^#\s*define\s+(?<name>\w+)/, kind: 'constant', within: within.file },
  { pattern: /^(?:inline\s+)?namespace\s+(?:\w+::)*(?<in>\w+)\s*\{?$/, within: within.file, opens: 'file' },
  { pattern: /^(?:namespace|extern\s+"C(?:\+\+)?")\s*\{?$/, within: within.file, opens: 'file' },
  {
    pattern: /^(?:typedef\s+)?enum\b(?:\s+(?:class|struct))?\s*(?<name>\w+)?\s*(?::[^:;]*)?\{?$/,
    kind: 'type',
    within: within.both,
    opens: 'enum',
  },
  {
    pattern:
      /^(?:typedef\s+)?(?:template\s*<.*>\s*)?(?:class|struct|union)\s+(?:\[\[.*\]\]\s*|[A-Z_]+\s+)?(?<name>\w+)\s*(?:final\s*)?(?::[^:;].*)?\{?$/,
    kind: 'class',
    within: within.both,
    opens: 'class',
  },
  { pattern: /^typedef\s+(?:struct|union)\s*\{?$/, within: within.file, opens: 'class' },
  { pattern: /^using\s+(?<name>\w+)\s*=/, kind: 'type', within: within.both },
  { pattern: /^typedef\s+.*?\(\s*\*\s*(?<name>\w+)\s*\)\s*\(/, kind: 'type', within: within.file },
  { pattern: /^typedef\s+.*?(?<name>\w+)\s*(?:\[.*\])?;$/, kind: 'type', within: within.file },
  { pattern: /^\}\s*(?:__attribute__.*\s)?(?<name>\w+)\s*;$/, kind: 'type', within: within.file },
  {
    pattern: new RegExp(String.raw`^${statement}(?:${type}+?[\s*&])?(?<in>\w+)(?:<[^>]*>)?::(?<name>~?\w+)\s*\([^;]*$`),
    kind: 'method',
    within: within.file,
    opens: 'function',
  },
  {
    pattern: new RegExp(String.raw`^${statement}${type}+?[\s*&](?<name>~?\w+)\s*\([^;=]*(?:$|\{.*\}$)`),
    kind: 'function',
    within: within.both,
    opens: 'function',
  },
  {
    pattern: new RegExp(
      String.raw`^(?:(?:static|inline|extern)\s+)*(?:constexpr|const)\s+${type}+?[\s*&](?<name>\w+)\s*(?:\[.*\])?\s*[={]`,
    ),
    kind: 'constant',
    within: within.both,
  },
  {
    pattern: /^(?:static\s+)?(?:struct\s+)?[\w:<>]+[\s*&]+(?<name>\w+)(?:\[.*\])?\s*=/,
    kind: 'constant',
    within: within.file,
  },
  {
    pattern:
      /^(?:(?:mutable|volatile|const|static|unsigned|signed|struct|enum)\s+)*[\w:<>,]+[\s*&]+(?<name>\w+)\s*(?:\[.*\]|:\s*\d+)?\s*(?:=.*|\{.*\})?;/,
    kind: 'field',
    within: within.member,
  },
  { pattern: /^(?<name>[A-Za-z_]\w*)\s*(?:=|,|$)/, kind: 'constant', within: ['enum'] },
];

const mods = String.raw`^(?:@\w+(?:\([^)]*\))?\s+)*(?:(?:public|private|protected|internal|fileprivate|open|static|final|abstract|sealed|override|virtual|async|readonly|const|partial|suspend|inline|data|lateinit|lazy|implicit|case|native|synchronized|transient|volatile|default|mutating|required|convenience|extern|unsafe|new|late|external|actual|expect|companion|strictfp|ref|file)\s+)*`;

export const curlyRules: readonly LineRule[] = [
  { pattern: /^namespace\s+[\w.\\]+\s*\{?$/, within: within.file, opens: 'file' },
  {
    pattern: new RegExp(
      String.raw`${mods}(?:class|interface|record|struct|trait|object|protocol|@interface|annotation\s+class|mixin|actor)\s+(?<name>\w+)`,
    ),
    kind: 'class',
    within: within.both,
    opens: 'class',
  },
  { pattern: new RegExp(String.raw`${mods}extension\s+(?<in>\w+)`), within: within.file, opens: 'class' },
  {
    pattern: new RegExp(String.raw`${mods}enum\s+(?:class\s+)?(?<name>\w+)`),
    kind: 'type',
    within: within.both,
    opens: 'class',
  },
  { pattern: new RegExp(String.raw`${mods}(?:typealias|type)\s+(?<name>\w+)`), kind: 'type', within: within.both },
  {
    pattern: new RegExp(String.raw`${mods}(?:fun|func|function|def)\s+(?:<[^>]*>\s*)?(?:[\w<>?]+\.)?&?(?<name>\w+)`),
    kind: 'function',
    within: within.both,
    opens: 'function',
  },
  {
    pattern: new RegExp(String.raw`${mods}(?:val|var|let|const)\s+(?:[\w\\?]+\s+)?\$?(?<name>\w+)\s*(?:[:=;]|$|by\b)`),
    kind: 'constant',
    within: within.both,
  },
  { pattern: /^define\(\s*['"](?<name>\w+)/, kind: 'constant', within: within.file },
  {
    pattern: /^(?:case\s+)?(?<name>[A-Z][A-Z0-9_]+)\s*(?:\(.*\)\s*)?(?:[,;={]|$)/,
    kind: 'constant',
    within: within.member,
  },
  {
    pattern: new RegExp(
      String.raw`${mods}${statement}(?:<[^>]+>\s*)?[\w.<>,?\[\]]+(?:\s*[<,?\[][\w.<>,?\[\]\s]*)?\s+(?<name>\w+)\s*(?:<[^>]*>)?\(`,
    ),
    kind: 'method',
    within: within.both,
    opens: 'function',
  },
  {
    pattern: new RegExp(
      String.raw`${mods}${statement}[\w.<>,?\[\]\\|]+(?:\s*[<,?\[][\w.<>,?\[\]\s]*)?\s+\$?(?<name>\w+)\s*(?:=(?!=)|;|\{)`,
    ),
    kind: 'field',
    within: within.member,
  },
];
