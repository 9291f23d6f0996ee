/**
 * The words of a hover and of an inlay hint about distant definitions. Text of the workspace is shown as text: no markup of
 * it is followed, so nothing is fetched. What is not certain is worded so. Knows nothing of the editor.
 */
import { fenced } from '../base/index.js';
import type { DefinitionCandidate, RecallAtReply } from '../protocol/index.js';
import { visibleText } from './visible-text.js';

/** How the words are translated, and where a candidate links to. */
export interface HoverText {
  readonly translate: (message: string, ...args: string[]) => string;
  readonly linkTo: (candidate: DefinitionCandidate) => string;
}

const mostShown = 3;
const linesWhenSeveral = 3;

/** Markdown, or undefined where there is nothing to say. */
export function hoverMarkdown(reply: RecallAtReply, { translate, linkTo }: HoverText): string | undefined {
  const [best] = reply.candidates;
  if (reply.certainty === 'none' || !best) return undefined;
  const link = (one: DefinitionCandidate): string =>
    `[${escapeMarkdown(visibleText(`${one.path}:${one.startLine}`))}](${linkTo(one)})`;
  const how = `*Longview: ${escapeMarkdown(reply.how)}*`;
  if (reply.certainty === 'one') {
    return [...definition(best, Infinity), `${link(best)}  \n${how}`].join('\n\n');
  }
  const several = reply.candidates.length > 1;
  const shown = reply.candidates.slice(0, mostShown);
  const lead = several ? translate('May be one of these:') : translate('May be this one:');
  const rest = reply.candidates.length - shown.length;
  return [
    escapeMarkdown(lead),
    ...shown.flatMap((one, at) => [
      `${several ? `${at + 1}. ` : ''}${link(one)}`,
      ...definition(at === 0 ? one : { ...one, documentation: undefined }, several ? linesWhenSeveral : Infinity),
    ]),
    `${rest > 0 ? `${escapeMarkdown(translate('{0} more with Recall at Cursor', `${rest}`))}  \n` : ''}${how}`,
  ].join('\n\n');
}

function definition(
  {
    signature,
    documentation,
    languageId,
  }: Pick<DefinitionCandidate, 'signature' | 'languageId'> & {
    readonly documentation?: string | undefined;
  },
  lines: number,
): string[] {
  const whole = visibleText(signature);
  const all = whole.split('\n');
  const code = all.length > lines ? [...all.slice(0, lines), '…'].join('\n') : whole;
  const blocks = [codeBlock(code, languageId ?? '')];
  if (documentation) blocks.push(visibleText(documentation).split('\n').map(escapeMarkdown).join('  \n'));
  return blocks;
}

/** A block of code in a language of the editor; a name that could end the fence's line is left out. */
function codeBlock(code: string, languageId: string): string {
  return fenced(code, /^[\w+#-]*$/.test(languageId) ? languageId : '');
}

/** Shown as it is written: no markup, no HTML, no links, no pictures. */
export function escapeMarkdown(text: string): string {
  return text
    .replace(/[\\`*_{}[\]()#+\-.!|~>]/g, '\\$&')
    .replace(/&/g, '&amp;')
    .replace(/</g, '&lt;')
    .replace(/:(?=\/\/)/g, '&#58;')
    .replace(/^[ \t]+/, blank => '&nbsp;'.repeat(blank.length));
}

/** `→ src/x.ts:12`. */
export function hintText({ path, startLine }: Pick<DefinitionCandidate, 'path' | 'startLine'>): string {
  return visibleText(`→ ${path}:${startLine}`);
}
