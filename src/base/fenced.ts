/** Text as a block of code in Markdown. Never changes the text. */

/** The fence is longer than any run of ticks in the text, so that nothing in it ends the block. */
export function fenced(text: string, language = ''): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}
