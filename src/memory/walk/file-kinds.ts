/**
 * Files that a person did not write: lock files, generated and minified code, binaries. Told by name, by their first lines
 * and by the bytes of a sample. Prose is never taken for generated or minified: long lines are its nature.
 */
import { extname } from 'node:path';
import { skip } from './skip.js';
import type { Verdict } from './skip.js';

const LOCK_FILES: ReadonlySet<string> = new Set(
  [
    'package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock',
    'cargo.lock poetry.lock pipfile.lock uv.lock pdm.lock pixi.lock conda-lock.yml',
    'composer.lock gemfile.lock go.sum go.work.sum mix.lock rebar.lock pubspec.lock podfile.lock',
    'cartfile.resolved package.resolved packages.lock.json paket.lock flake.lock gradle.lockfile',
    '.terraform.lock.hcl conan.lock module.bazel.lock stack.yaml.lock cabal.project.freeze',
  ]
    .join(' ')
    .split(' '),
);

const MINIFIED_NAME = /[.-]min\.(js|mjs|cjs|css|html?)$|\.(js|mjs|cjs|css|ts)\.map$/;
const GENERATED_NAME =
  /\.pb\.(go|cc|h|swift)$|_pb2(_grpc)?\.pyi?$|_pb\.(js|ts)$|_pb\.d\.ts$|\.g\.dart$|\.freezed\.dart$|\.designer\.cs$|\.g\.cs$|\.snap$/;

/** Verdict on a name alone, if it is enough. */
export function kindByName(name: string): Verdict | undefined {
  const lower = name.toLowerCase();
  if (LOCK_FILES.has(lower)) return skip('lock file');
  if (MINIFIED_NAME.test(lower)) return skip('minified', 'by its name');
  if (GENERATED_NAME.test(lower)) return skip('generated', 'by its name');
  return undefined;
}

const PROSE = /^\.(md|markdown|mdx|txt|text|rst|adoc|asciidoc|org|tex|log|csv|tsv|srt|vtt)$/;
/** Formats that tools write on one line. */
const MINIFIABLE = /^\.(js|mjs|cjs|jsx|css|html?|svg|json|geojson|xml|map)$/;
const BUNDLED = /^\.(js|cjs|mjs)$/;
/** A sample of at least so many characters, of which this share is in such long lines, was not written by hand. */
const MINIFIED_SAMPLE = 4096;
const LONG_LINE = 500;
const IN_LONG_LINES = 0.8;

const MARKED_LINES = 20;
const COMMENT = /^\s*(\/\/|\/\*|\*|#|--|;|%|<!--|<\?|"|'|\{-|\(\*)/;
const MARKERS: readonly RegExp[] = [
  /(^|[\s*/#;-])@generated\b/,
  /\bcode generated\b.*\bdo not edit\b/i,
  /<auto-?generated\b/i,
  /\b(auto[- ]?generated|automatically generated|generated (by|from|with))\b.*\b(do not|don't|should not)\b.*\b(edit|modif|chang)/i,
];

/** How bundlers begin what they write: the sources beside it, or its own repository, are what a person reads. */
const BUNDLE_LINES = 12;
const BUNDLES: readonly [string, RegExp][] = [
  ['rollup', /^\s*typeof exports === 'object' && typeof module !== 'undefined' \?/],
  ['webpack', /webpackUniversalModuleDefinition|^\/\*{6}\/ |webpackBootstrap/],
  ['browserify', /^\(function\(\)\{function r\(e,n,t\)\{function o\(i,f\)/],
];

/** Verdict on the first text of a file (some kilobytes or all of it), if it is not to be read. */
export function kindByText(name: string, start: string): Verdict | undefined {
  const extension = extname(name).toLowerCase();
  if (PROSE.test(extension)) return undefined;
  const lines = start.split('\n');
  const marked = lines.slice(0, MARKED_LINES).find(line => COMMENT.test(line) && isMarked(line));
  if (marked !== undefined) return skip('generated', marked.trim().slice(0, 100));
  if (BUNDLED.test(extension)) {
    const head = lines.slice(0, BUNDLE_LINES);
    const bundler = BUNDLES.find(([, mark]) => head.some(line => mark.test(line.slice(0, 400))));
    if (bundler) return skip('generated', `a bundle by ${bundler[0]}`);
  }
  if (MINIFIABLE.test(extension) && start.length >= MINIFIED_SAMPLE) {
    const long = lines.filter(line => line.length > LONG_LINE).reduce((sum, line) => sum + line.length, 0);
    if (long > IN_LONG_LINES * start.length) return skip('minified', `lines of over ${LONG_LINE} characters`);
  }
  return undefined;
}

function isMarked(line: string): boolean {
  return MARKERS.some(marker => marker.test(line.slice(0, 400)));
}

/** First bytes of formats that hold no text but may show no zero byte in their first kilobytes. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['PDF', '%PDF-'],
  ['ZIP', 'PK\x03\x04'],
  ['gzip', '\x1f\x8b'],
  ['bzip2', 'BZh'],
  ['xz', '\xfd7zXZ'],
  ['zstd', '\x28\xb5\x2f\xfd'],
  ['7z', "7z\xbc\xaf'\x1c"],
  ['RAR', 'Rar!\x1a'],
  ['PNG', '\x89PNG'],
  ['JPEG', '\xff\xd8\xff'],
  ['GIF', 'GIF8'],
  ['ELF', '\x7fELF'],
  ['WebAssembly', '\0asm'],
  ['Java class', '\xca\xfe\xba\xbe'],
  ['SQLite', 'SQLite format 3\0'],
  ['RTF', '{\\rtf'],
  ['MP3', 'ID3'],
  ['Ogg', 'OggS'],
];

/** Name of the binary format that begins so, if it is a known one. */
export function magicOf(sample: Uint8Array): string | undefined {
  const start = Buffer.from(sample.buffer, sample.byteOffset, Math.min(sample.byteLength, 16)).toString('latin1');
  return MAGIC.find(([, magic]) => start.startsWith(magic))?.[0];
}
