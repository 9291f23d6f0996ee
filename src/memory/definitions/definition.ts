/** What a definition is, and of which language a file is. Types and tables: nothing is read here. */

export type DefinitionKind =
  'function' | 'method' | 'class' | 'type' | 'constant' | 'field' | 'module' | 'key' | 'heading';

/** A named place of one text. What is shown of it is cut from the text when it is shown. */
export interface Definition {
  readonly name: string;
  readonly kind: DefinitionKind;
  /** The line that names it, from 1. */
  readonly line: number;
  /** The class, module or object it is a member of. */
  readonly container?: string;
}

/** Files of one family can use each other's names. */
export type Family =
  'python' | 'script' | 'go' | 'rust' | 'curly' | 'c' | 'ruby' | 'shell' | 'data' | 'prose' | 'other';

export interface Language {
  /** Identifier of the editor. */
  readonly id: string;
  readonly family: Family;
}

const byExtension: Readonly<Record<string, readonly [id: string, family: Family]>> = {
  py: ['python', 'python'],
  pyi: ['python', 'python'],
  pyw: ['python', 'python'],
  js: ['javascript', 'script'],
  mjs: ['javascript', 'script'],
  cjs: ['javascript', 'script'],
  jsx: ['javascriptreact', 'script'],
  ts: ['typescript', 'script'],
  mts: ['typescript', 'script'],
  cts: ['typescript', 'script'],
  tsx: ['typescriptreact', 'script'],
  vue: ['vue', 'script'],
  svelte: ['svelte', 'script'],
  go: ['go', 'go'],
  rs: ['rust', 'rust'],
  java: ['java', 'curly'],
  kt: ['kotlin', 'curly'],
  kts: ['kotlin', 'curly'],
  scala: ['scala', 'curly'],
  groovy: ['groovy', 'curly'],
  gradle: ['groovy', 'curly'],
  swift: ['swift', 'curly'],
  dart: ['dart', 'curly'],
  cs: ['csharp', 'curly'],
  php: ['php', 'curly'],
  c: ['c', 'c'],
  h: ['c', 'c'],
  cc: ['cpp', 'c'],
  cpp: ['cpp', 'c'],
  cxx: ['cpp', 'c'],
  hh: ['cpp', 'c'],
  hpp: ['cpp', 'c'],
  hxx: ['cpp', 'c'],
  ino: ['cpp', 'c'],
  cu: ['cpp', 'c'],
  m: ['objective-c', 'c'],
  rb: ['ruby', 'ruby'],
  rake: ['ruby', 'ruby'],
  gemspec: ['ruby', 'ruby'],
  sh: ['shellscript', 'shell'],
  bash: ['shellscript', 'shell'],
  zsh: ['shellscript', 'shell'],
  yml: ['yaml', 'data'],
  yaml: ['yaml', 'data'],
  json: ['json', 'data'],
  jsonc: ['jsonc', 'data'],
  json5: ['json5', 'data'],
  toml: ['toml', 'data'],
  ini: ['ini', 'data'],
  cfg: ['ini', 'data'],
  conf: ['ini', 'data'],
  properties: ['properties', 'data'],
  md: ['markdown', 'prose'],
  mdx: ['markdown', 'prose'],
  markdown: ['markdown', 'prose'],
  rst: ['restructuredtext', 'prose'],
  adoc: ['asciidoc', 'prose'],
  txt: ['plaintext', 'prose'],
  lua: ['lua', 'other'],
  sql: ['sql', 'other'],
  proto: ['proto', 'other'],
  graphql: ['graphql', 'other'],
  ex: ['elixir', 'other'],
  exs: ['elixir', 'other'],
  jl: ['julia', 'other'],
  r: ['r', 'other'],
  pl: ['perl', 'other'],
  pm: ['perl', 'other'],
  ps1: ['powershell', 'other'],
  zig: ['zig', 'other'],
  nim: ['nim', 'other'],
  css: ['css', 'other'],
  scss: ['scss', 'other'],
  less: ['less', 'other'],
};

const byName: Readonly<Record<string, readonly [id: string, family: Family]>> = {
  makefile: ['makefile', 'other'],
  gnumakefile: ['makefile', 'other'],
  dockerfile: ['dockerfile', 'other'],
  rakefile: ['ruby', 'ruby'],
  gemfile: ['ruby', 'ruby'],
  readme: ['plaintext', 'prose'],
};

const byId = new Map(Object.values(byExtension).map(language => [language[0], language]));

/** `id`: what the editor says where the path says nothing, e.g. of a cell of a notebook. */
export function languageOf(path: string, id?: string): Language {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  const found =
    byName[name] ?? byExtension[name.slice(name.lastIndexOf('.') + 1)] ?? (id === undefined ? undefined : byId.get(id));
  return found ? { id: found[0], family: found[1] } : { id: 'plaintext', family: 'other' };
}

/** Definitions kept of one text; more is data. */
export const MAX_DEFINITIONS = 4000;

/** A copy that does not keep the text it was cut from in memory (an engine's slices of strings do). */
export function owned(text: string): string {
  return text.length < 13 ? text : Buffer.from(text).toString();
}
