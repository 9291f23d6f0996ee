/** The version of the package, from its manifest. */
import { existsSync, readFileSync } from 'node:fs';

export function version(): string {
  // Bundled and compiled code lie differently deep.
  const places = ['../package.json', '../../../package.json'].map(path => new URL(path, import.meta.url));
  const manifest = places.find(existsSync) ?? places[0]!;
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
