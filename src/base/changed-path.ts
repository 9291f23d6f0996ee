/** What a change of a path means for a walk. Here because the server asks it where nothing else of the memory is loaded. */

/** Files whose rules say what is read of their folder. */
export const IGNORE_FILES = ['.gitignore', '.longviewignore'] as const;

/** The folders of version control: never entered, never a row, whatever a rule says. */
export const VERSION_CONTROL: ReadonlySet<string> = new Set(['.git', '.hg', '.svn', '.jj']);

/**
 * What is to be walked after a change of `path` (relative to the root, with `/`): the folder whose rules an ignore file
 * makes, everything (the empty path) for those of the repository, else the path itself. Undefined inside version control.
 */
export function walkedAfterChangeOf(path: string): string | undefined {
  const names = path.split('/').filter(Boolean);
  const trimmed = names.join('/');
  if (trimmed === '.git' || trimmed === '.git/info/exclude') return '';
  if (names.some(name => VERSION_CONTROL.has(name))) return undefined;
  return IGNORE_FILES.some(name => name === names.at(-1)) ? names.slice(0, -1).join('/') : trimmed;
}
