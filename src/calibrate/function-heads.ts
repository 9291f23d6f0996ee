/** Where functions and methods begin, by the start of a line. Knows no grammar; leaves out what it is not sure of. */

export type SourceLanguage = 'python' | 'script' | 'go' | 'rust';

export interface Head {
  readonly name: string;
  /** Counted from 1. */
  readonly line: number;
}

const languages: readonly (readonly [SourceLanguage, RegExp])[] = [
  ['python', /\.pyi?$/],
  ['script', /\.(?:[cm]?[jt]s|[jt]sx)$/],
  ['go', /\.go$/],
  ['rust', /\.rs$/],
];

export function languageOfPath(path: string): SourceLanguage | undefined {
  return languages.find(([, ending]) => ending.test(path))?.[0];
}

const notMethods = new Set(
  'if for while switch catch return function super await typeof new throw else do with constructor'.split(' '),
);

const heads: Record<SourceLanguage, readonly RegExp[]> = {
  python: [/^\s*(?:async\s+)?def\s+(\w+)/],
  go: [/^func\s+(?:\([^)]*\)\s*)?(\w+)/],
  rust: [/^\s*(?:pub(?:\([^)]*\))?\s+)?(?:(?:const|async|unsafe|default|extern\s+"[^"]*")\s+)*fn\s+(\w+)/],
  script: [
    /^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)/,
    /^\s*(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^;]*$|[\w$]+\s*=>)/,
    /^\s*(?:[\w$]+\.)+([\w$]+)\s*=\s*(?:async\s*)?function\b/,
    /^\s+['"]?([\w$]+)['"]?\s*:\s*(?:async\s*)?function\b/,
    /^\s+(?:(?:public|private|protected|static|async|override|readonly|get|set)\s+)*\*?\s*(#?[\w$]+)\s*(?:<[^>(]*>)?\s*\((?:[^;]*\{|[^;)]*)$/,
  ],
};

export function functionHeads(language: SourceLanguage, lines: readonly string[]): Head[] {
  const out: Head[] = [];
  lines.forEach((text, at) => {
    for (const head of heads[language]) {
      const name = head.exec(text)?.[1];
      if (name === undefined || (language === 'script' && notMethods.has(name))) continue;
      out.push({ name, line: at + 1 });
      break;
    }
  });
  return out;
}
