/**
 * Which part of a workspace is walked: everything, or some paths and what lies in them. A scope is the tree of the names on
 * the way to those paths. Never looks at the disk.
 */

/** `all`: everything here. A map: the entries of these names only, each as far as its own scope says. */
export type Scope = 'all' | ReadonlyMap<string, Scope>;

/** The scope of paths relative to the root, with `/`; one at the end is the same folder. The empty path is everything. */
export function scopeOf(paths: Iterable<string>): Scope {
  const top = new Map<string, Scope>();
  for (const path of paths) {
    const names = path.split('/').filter(Boolean);
    const last = names.pop();
    if (last === undefined) return 'all';
    let here: Scope = top;
    for (const name of names) {
      const next: Scope = here.get(name) ?? new Map<string, Scope>();
      (here as Map<string, Scope>).set(name, next);
      here = next;
      if (here === 'all') break;
    }
    if (here !== 'all') (here as Map<string, Scope>).set(last, 'all');
  }
  return top;
}

/** What of an entry is in the scope of its folder; undefined where nothing is. */
export function scopeIn(scope: Scope, name: string): Scope | undefined {
  return scope === 'all' ? scope : scope.get(name);
}
