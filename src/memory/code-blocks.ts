/**
 * Blocks of program text and data by indentation: a line with deeper lines below it owns them, up to the line that
 * closes it. Definitions inside definitions become blocks of their own; control flow does not, unless what holds it is
 * too long to show. Knows no grammar: brackets in strings do not matter because only the start of a line is looked at.
 */
import { MAX_BLOCK_LINES, packed, type Block } from './block.js';
import { closer, extent, indentOf } from './indentation.js';

const attached = /^(?:@|#\[|#!?\s|##|#:|\/\/|\/\*|\*|--|;|%|"""|'''|\[[A-Z])/;
const control =
  /^(?:[})\]]\s*)?(?:if|else|elif|elsif|for|foreach|while|do|try|catch|except|finally|switch|case|default|with|when|unless|until|loop|match|return|raise|throw|lock|using|synchronized|begin|rescue|ensure|then|repeat|select|go|defer|await|yield|print|assert)\b/;
const keyword =
  /(?:^|[\s(=])(?:def|class|function\*?|fn|func|fun|sub|proc|procedure|interface|struct|enum|union|impl|trait|module|namespace|package|record|object|protocol|extension|macro|defmodule|defn|type|template|message|service|rpc|test|describe|suite|it|resource|variable)\b/;
const bracedHead =
  /\)[^;=]*\{$|[=:]\s*(?:async\s*)?(?:<.*>\s*)?(?:\(.*\)|[\w$]+)\s*(?::[^=]*)?=>\s*\{?$|\)\s*(?::[^=]*|->.*)?[:{]$|=\s*$/;

const MAX_DEPTH = 12;
const PACK_LINES = 20;

interface Unit extends Block {
  /** Has deeper lines of its own. */
  readonly owns: boolean;
  readonly definition: boolean;
  /** First line that is deeper than the head. */
  readonly bodyLine: number;
}

export function codeBlocks(lines: readonly string[]): Block[] {
  const indents = lines.map(indentOf);
  const out: Block[] = [];
  const visit = (first: number, last: number, depth: number, dense: boolean): void => {
    let plain: Block[] = [];
    // Inside a block that is shown whole, what is not a definition needs no block of its own.
    const flushPlain = (): void => {
      if (depth === 0 || dense) out.push(...packed(paragraphs(plain), PACK_LINES));
      plain = [];
    };
    for (const unit of units(lines, indents, first, last)) {
      const length = unit.endLine - unit.startLine + 1;
      const shown = unit.owns && (depth === 0 || dense || unit.definition) && length >= 2;
      if (!shown) {
        if (length > MAX_BLOCK_LINES && unit.owns && depth < MAX_DEPTH)
          visit(unit.startLine, unit.endLine, depth + 1, true);
        else plain.push(unit);
        continue;
      }
      flushPlain();
      if (length <= MAX_BLOCK_LINES) {
        out.push({ startLine: unit.startLine, endLine: unit.endLine });
        if (depth < MAX_DEPTH) visitInner(unit, depth, false);
      } else if (depth < MAX_DEPTH) visitInner(unit, depth, true);
      else plain.push(unit);
    }
    flushPlain();
  };
  const visitInner = (unit: Unit, depth: number, dense: boolean): void => {
    if (dense && unit.bodyLine > unit.startLine)
      out.push(...packed([{ startLine: unit.startLine, endLine: unit.bodyLine }], PACK_LINES));
    visit(unit.bodyLine, unit.endLine, depth + 1, dense);
  };
  visit(1, lines.length, 0, false);
  return out;
}

/** What stands side by side in lines `first`..`last`: blocks with their comments and decorators, and single lines. */
function units(lines: readonly string[], indents: readonly number[], first: number, last: number): Unit[] {
  const out: Unit[] = [];
  /** Comments and decorators that wait for the block below them. */
  let lead = 0;
  for (let line = first; line <= last; line++) {
    const indent = indents[line - 1]!;
    if (indent < 0) {
      lead = flush(out, lead, line - 1);
      if (lines[line - 1]!.trim() !== '') flush(out, line, line);
      continue;
    }
    const end = extent(lines, indents, line, last);
    const text = lines[line - 1]!.trimStart();
    if (end.line === line && attached.test(text)) {
      lead ||= line;
      continue;
    }
    const start = lead || line;
    if (!end.owns) flush(out, lead, line - 1);
    out.push({
      startLine: end.owns ? start : line,
      endLine: end.line,
      owns: end.owns,
      definition: end.owns && isDefinition(lines, indents, line, end.bodyLine),
      bodyLine: end.bodyLine,
    });
    lead = 0;
    line = end.line;
  }
  flush(out, lead, last);
  return out;
}

function flush(out: Unit[], lead: number, last: number): 0 {
  if (lead) out.push({ startLine: lead, endLine: last, owns: false, definition: false, bodyLine: lead });
  return 0;
}

function isDefinition(lines: readonly string[], indents: readonly number[], head: number, bodyLine: number): boolean {
  const depth = indents[head - 1]!;
  const first = lines[head - 1]!.trim();
  if (control.test(first) || closer.test(first)) return false;
  if (keyword.test(first)) return true;
  let text = first;
  for (let line = head + 1; line < bodyLine + 8 && line <= lines.length; line++) {
    if (indents[line - 1] === depth) text += ` ${lines[line - 1]!.trim()}`;
    if (line >= bodyLine && /[{:]$/.test(text)) break;
  }
  return bracedHead.test(first) || bracedHead.test(text);
}

/** Units joined where no blank line stands between them. */
function paragraphs(plain: readonly Block[]): Block[] {
  const out: Block[] = [];
  for (const unit of plain) {
    const before = out.at(-1);
    if (before && before.endLine + 1 === unit.startLine) {
      out[out.length - 1] = { startLine: before.startLine, endLine: unit.endLine };
    } else out.push({ startLine: unit.startLine, endLine: unit.endLine });
  }
  return out;
}
