/** The version of the package, from its manifest. */
import { readFileSync } from 'node:fs';

export function version(): string {
  const manifest = new URL('../../../package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version;
}
