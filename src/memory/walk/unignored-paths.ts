/**
 * Which ignored folders must be entered all the same, because a rule takes something inside them back: `!vendor/lib/`
 * in a `.longviewignore`, or a path the user named. Only rules with a slash before their end name a place; `!*.md` does
 * not lead into an ignored folder. Never decides whether a path is ignored.
 */
import ignore from 'ignore';

/** The folders on the way to what one negated rule names: its parts, without the last. */
export interface Way {
  /** Folder of the rule's file relative to the root, with `/` at its end, or empty. */
  readonly base: string;
  readonly parts: readonly string[];
}

/** The ways of all negated rules of an ignore file in `base`. */
export function waysOf(base: string, lines: readonly string[]): Way[] {
  const ways: Way[] = [];
  for (const line of lines) {
    if (!line.startsWith('!')) continue;
    const rule = line.slice(1).trimEnd().replace(/\/+$/, '');
    if (!rule.includes('/')) continue;
    ways.push({ base, parts: rule.replace(/^\//, '').split('/') });
  }
  return ways;
}

/** True if something below the folder `path` (with `/` at its end) may be taken back. */
export function leadsInto(path: string, ways: readonly Way[], ignoreCase: boolean): boolean {
  return ways.some(way => {
    if (!path.startsWith(way.base)) return false;
    const folders = path.slice(way.base.length, -1).split('/');
    for (const [depth, folder] of folders.entries()) {
      const part = way.parts[depth];
      if (part === '**') return true;
      if (part === undefined || depth === way.parts.length - 1 || !matchesPart(folder, part, ignoreCase)) return false;
    }
    return true;
  });
}

function matchesPart(name: string, part: string, ignoreCase: boolean): boolean {
  return ignore({ ignorecase: ignoreCase })
    .add({ pattern: `/${part}` })
    .ignores(name);
}
