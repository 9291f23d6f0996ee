/** JavaScript and TypeScript. */
import { within, type LineRule } from './line-rule.js';

const exported = String.raw`^(?:export\s+)?(?:default\s+)?(?:declare\s+)?`;
const isFunction = String.raw`(?:async\s+)?(?:function\b|(?:<[^>]*>\s*)?(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|[\w$]+)\s*(?::[^=]+)?=>)`;
const mods = String.raw`^(?:(?:public|private|protected|static|async|readonly|override|abstract|get|set|accessor|declare)\s+)*[*#]?\s*`;
/** What ends a line that opens the literal of an object, as the value itself or as an argument of a call. */
const isObject = String.raw`(?:\/\*.*?\*\/\s*)?(?:[\w$.]*\()?\{$`;
const access = String.raw`(?:(?:public|private|protected|readonly|override)\s+)+`;
const rule = (source: string, rest: Omit<LineRule, 'pattern'>): LineRule => ({ pattern: new RegExp(source), ...rest });

export const scriptRules: readonly LineRule[] = [
  rule(String.raw`${exported}(?:async\s+)?function\s*\*?\s*(?<name>[\w$]+)`, {
    kind: 'function',
    within: within.file,
    opens: 'function',
    declares: true,
  }),
  rule(String.raw`${exported}(?:abstract\s+)?class\s+(?<name>[\w$]+)`, {
    kind: 'class',
    within: within.file,
    opens: 'class',
  }),
  rule(String.raw`${exported}interface\s+(?<name>[\w$]+)`, { kind: 'type', within: within.file, opens: 'class' }),
  rule(String.raw`${exported}(?:const\s+)?enum\s+(?<name>[\w$]+)`, {
    kind: 'type',
    within: within.file,
    opens: 'enum',
  }),
  rule(String.raw`${exported}type\s+(?<name>[\w$]+)\s*(?:<.*)?=\s*\{$`, {
    kind: 'type',
    within: within.file,
    opens: 'class',
  }),
  rule(String.raw`${exported}type\s+(?<name>[\w$]+)\s*[<=]`, { kind: 'type', within: within.file }),
  rule(String.raw`${exported}(?:namespace|module)\s+(?<name>[\w$]+)`, {
    kind: 'module',
    within: within.file,
    opens: 'file',
  }),
  rule(String.raw`${exported}(?:const|let|var)\s+(?<name>[\w$]+)\s*(?::[^=]+)?=\s*${isFunction}`, {
    kind: 'function',
    within: within.file,
    opens: 'function',
    declares: true,
  }),
  rule(String.raw`${exported}(?:const|let|var)\s+(?<name>[\w$]+)\s*(?::[^=]+)?=\s*class\b`, {
    kind: 'class',
    within: within.file,
    opens: 'class',
  }),
  // A name that a module is bound to is defined where the module is.
  rule(String.raw`${exported}(?:const|let|var)\s+[\w$]+\s*(?::[^=]+)?=\s*(?:await\s+import|require)\s*\(`, {
    within: within.file,
  }),
  rule(String.raw`${exported}(?:const|let|var)\s+(?<name>[\w$]+)\s*:[^=]+=\s*${isObject}`, {
    kind: 'constant',
    within: within.file,
    opens: 'typed',
  }),
  rule(String.raw`${exported}(?:const|let|var)\s+(?<name>[\w$]+)\s*=\s*${isObject}`, {
    kind: 'constant',
    within: within.file,
    opens: 'object',
  }),
  rule(String.raw`${exported}(?:const|let|var)\s+(?<name>[\w$]+)\s*(?::[^=]+)?(?:=(?!=)|;|$)`, {
    kind: 'constant',
    within: within.file,
  }),
  rule(String.raw`^(?:module\.)?exports\.(?<name>[\w$]+)\s*=\s*${isFunction}`, {
    kind: 'function',
    within: within.file,
    opens: 'function',
  }),
  rule(String.raw`^(?:module\.)?exports(?:\.[\w$]+)?\s*=\s*class\s+(?<name>(?!extends\b)[\w$]+)`, {
    kind: 'class',
    within: within.file,
    opens: 'class',
  }),
  rule(String.raw`^(?:module\.)?exports\.(?<name>[\w$]+)\s*=\s*class\b`, {
    kind: 'class',
    within: within.file,
    opens: 'class',
  }),
  rule(String.raw`^(?:module\.exports\s*=|export\s+default)\s*(?:abstract\s+)?class\b`, {
    within: within.file,
    opens: 'class',
  }),
  rule(String.raw`^(?:module\.)?exports\.(?<name>[\w$]+)\s*=\s*${isObject}`, {
    kind: 'constant',
    within: within.file,
    opens: 'object',
  }),
  // What is exported under its own name is defined elsewhere in the file.
  rule(String.raw`^(?:module\.)?exports\.([\w$]+)\s*=\s*(?:\1\b|require\()`, { within: within.file }),
  rule(String.raw`^(?:module\.)?exports\.(?<name>[\w$]+)\s*=(?!=)`, { kind: 'constant', within: within.file }),
  rule(String.raw`^(?:(?:module\.)?exports\s*=|export\s+default|export\s*=)\s*${isObject}`, {
    within: within.file,
    opens: 'object',
  }),
  rule(String.raw`^(?<in>[\w$]+)\.prototype\.(?<name>[\w$]+)\s*=(?!=)`, {
    kind: 'method',
    within: within.file,
    opens: 'function',
  }),
  rule(String.raw`^(?<in>[A-Za-z$_][\w$]*)\.(?<name>[\w$]+)\s*=\s*${isFunction}`, {
    kind: 'method',
    within: within.file,
    opens: 'function',
  }),
  // Parameters of a constructor that are fields too.
  {
    ...rule(String.raw`^constructor\s*\(`, { within: within.member, opens: 'parameters' }),
    fields: new RegExp(String.raw`(?<=[(,]\s*)${access}(?<name>[\w$]+)(?=\s*[?:=,)])`, 'g'),
  },
  rule(String.raw`^${access}(?<name>[\w$]+)\s*(?:[?:=,]|$)`, { kind: 'field', within: ['parameters'] }),
  rule(String.raw`${mods}(?<name>[\w$]+)[?!]?\s*(?::[^=]+)?=\s*${isFunction}`, {
    kind: 'method',
    within: within.member,
    opens: 'function',
  }),
  rule(String.raw`${mods}(?<name>[\w$]+)\??\s*(?:<[^(]*>)?\(`, {
    kind: 'method',
    within: within.member,
    opens: 'function',
  }),
  rule(String.raw`${mods}(?<name>[\w$]+)[?!]?\s*(?::|=(?![=>])|;$)`, { kind: 'field', within: within.member }),
  rule(String.raw`^["']?(?<name>[\w$]+)["']?\s*(?:=(?![=>])|,|$)`, { kind: 'constant', within: ['enum'] }),
  rule(String.raw`^(?:async\s+)?(?:get\s+|set\s+)?\*?\s*(?<name>[\w$]+)\s*\([^;]*\)\s*\{(?:$|.*\},?$)`, {
    kind: 'method',
    within: ['object', 'typed'],
    opens: 'function',
  }),
  rule(String.raw`^["']?(?<name>[\w$]+)["']?\s*:\s*${isFunction}`, {
    kind: 'method',
    within: ['object', 'typed'],
    opens: 'function',
  }),
  // The object that a function makes: its keys are what callers use.
  rule(String.raw`^return\s+${isObject}`, { within: within.body, opens: 'object' }),
  {
    ...rule(String.raw`^return\s*\{[^{}()]*\};?$`, { within: within.body }),
    fields: /(?<=[{,]\s*)(?<name>[A-Za-z_$][\w$]*)(?=\s*:(?!\s*\k<name>\s*[,}]))/g,
  },
  // What stands under its own name, and a module under any, is defined elsewhere.
  rule(String.raw`^["']?([\w$]+)["']?\s*:\s*(?:\1\s*,?$|require\s*\()`, { within: ['object'] }),
  rule(String.raw`^["']?(?<name>[\w$]+)["']?\s*:\s*${isObject}`, {
    kind: 'field',
    within: ['object'],
    opens: 'object',
  }),
  rule(String.raw`^["']?(?<name>[A-Za-z_$][\w$]*)["']?\s*:`, { kind: 'field', within: ['object'] }),
];
