/** The failure of a package with native code, in words of one line. Never loads anything: base knows no Node. */
import { LongviewError, messageOf } from './errors.js';

/** Platforms that Longview is packaged for, as VS Code names them (scripts/package/native-packages.mjs). */
const PACKAGED = 'win32-x64, win32-arm64, linux-x64 and linux-arm64 with glibc, darwin-arm64';

/** For whatever was thrown while `library` was loaded on `platform`, e.g. `linux-x64`: `unsupported`, with what to do. */
export function nativeFailure(library: string, platform: string, cause: unknown): LongviewError {
  return new LongviewError(
    'unsupported',
    `Longview's part ${library} does not load on ${platform} (${messageOf(cause)}). ` +
      `Install the package made for this machine; there are ${PACKAGED}.`,
    { cause },
  );
}
