/**
 * Text of files, models and paths made fit to be shown: what a terminal or the bidirectional algorithm would act on becomes
 * visible. Knows nothing of the editor.
 */

// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
/** They reorder what stands around them, so that a text reads otherwise than it is. */
const directions = /[\u202a-\u202e\u2066-\u2069]/g;

/** Line ends become `\n`; other control characters their pictures, e.g. `␛`; marks of direction `[U+202E]`. */
export function visibleText(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(controls, sign => String.fromCharCode(sign === '\u007f' ? 0x2421 : 0x2400 + sign.charCodeAt(0)))
    .replace(directions, sign => `[U+${sign.charCodeAt(0).toString(16).toUpperCase()}]`);
}
