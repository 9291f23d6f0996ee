/**
 * The ignore rules that hold in one folder of the walk, and their verdict on its entries. Immutable: entering a folder
 * gives new rules. Never reads a file (`ignore-files.ts` does).
 *
 * The last word has, from strongest to weakest: paths the user named; `.longviewignore`, deepest first; the exclude
 * globs of the options; `.gitignore`, deepest first; the repository's `info/exclude`; what is always left out. Inside one
 * file the last matching line wins, as in Git. What is in an ignored folder is ignored, except where a named path or a
 * rule of a `.longviewignore` leads into it (`unignored-paths.ts`).
 */
import ignore from 'ignore';
import type { Ignore } from 'ignore';
import { leadsInto, waysOf } from './unignored-paths.js';
import type { Way } from './unignored-paths.js';

/** Names of ignore files that decide, by strength. */
export type RuleGroup = 'named' | 'longview' | 'exclude' | 'git' | 'built-in';

/** Lines of one ignore file. Paths are relative to one folder for all files: the top of the repository or the root. */
export interface RuleFile {
  readonly group: RuleGroup;
  /** Folder whose entries the lines are about, with `/` at its end, or empty. */
  readonly base: string;
  /** How the file is called in details, e.g. `src/.gitignore`. */
  readonly name: string;
  readonly lines: readonly string[];
}

interface Level extends RuleFile {
  readonly matcher: Ignore;
}

export interface IgnoreVerdict {
  readonly ignored: boolean;
  /** The rule that ignores, for people: `src/.gitignore: *.log`. */
  readonly detail?: string;
  /** The entry is ignored, but something in it is not: enter it. */
  readonly enter?: boolean;
}

const STRENGTH: readonly RuleGroup[] = ['named', 'longview', 'exclude', 'git', 'built-in'];

export class IgnoreRules {
  private constructor(
    private readonly ignoreCase: boolean,
    /** Strongest first. */
    private readonly levels: readonly Level[],
    private readonly ways: readonly Way[],
    /** Why everything here is ignored unless a named path or a `.longviewignore` takes it back. */
    private readonly inherited: string | undefined,
  ) {}

  static of(files: readonly RuleFile[], ignoreCase: boolean): IgnoreRules {
    return new IgnoreRules(ignoreCase, [], [], undefined).with(files);
  }

  /** These rules and those of more files, which are deeper than all files before. */
  with(files: readonly RuleFile[]): IgnoreRules {
    if (files.length === 0) return this;
    const added = files.map((file): Level => ({ ...file, matcher: this.matcherOf(file.lines) }));
    // A stable sort: of one group, the deeper file (later in `added`, before the older levels) comes first.
    const levels = [...added.reverse(), ...this.levels].sort(
      (a, b) => STRENGTH.indexOf(a.group) - STRENGTH.indexOf(b.group),
    );
    const ways = files
      .filter(file => file.group === 'named' || file.group === 'longview')
      .flatMap(file => waysOf(file.base, file.lines));
    return new IgnoreRules(this.ignoreCase, levels, [...this.ways, ...ways], this.inherited);
  }

  /** `path` as in `RuleFile`; a folder's with `/` at its end. It must be inside the base of every file. */
  decide(path: string): IgnoreVerdict {
    for (const level of this.levels) {
      if (this.inherited !== undefined && level.group !== 'named' && level.group !== 'longview') break;
      const result = level.matcher.test(path.slice(level.base.length));
      if (result.unignored) return { ignored: false };
      if (result.ignored) return this.ignored(path, `${level.name}: ${result.rule?.pattern ?? ''}`);
    }
    return this.inherited === undefined ? { ignored: false } : this.ignored(path, this.inherited);
  }

  /** The rules inside the folder `path` (with `/` at its end) after `decide` said `verdict`. */
  entering(path: string, verdict: IgnoreVerdict): IgnoreRules {
    // A level whose word on the folder was overruled would repeat that word for all that is in it: it is told that the folder
    // is not ignored. What its lines say of each entry itself stays.
    const levels = this.levels.map((level): Level => {
      const inside = path.slice(level.base.length);
      if (!level.matcher.test(inside).ignored) return level;
      const matcher = ignore({ ignorecase: this.ignoreCase })
        .add(level.matcher)
        .add({ pattern: `!/${escapePattern(inside)}` });
      return { ...level, matcher };
    });
    const inherited = verdict.ignored ? (verdict.detail ?? '') : undefined;
    return new IgnoreRules(this.ignoreCase, levels, this.ways, inherited);
  }

  private ignored(path: string, detail: string): IgnoreVerdict {
    const enter = path.endsWith('/') && leadsInto(path, this.ways, this.ignoreCase);
    return { ignored: true, detail, enter };
  }

  private matcherOf(lines: readonly string[]): Ignore {
    return ignore({ ignorecase: this.ignoreCase }).add(lines.map(pattern => ({ pattern })));
  }
}

/** A path as a rule that matches only itself. */
export function escapePattern(path: string): string {
  return path.replace(/[\\*?[\]!# ]/g, '\\$&');
}
