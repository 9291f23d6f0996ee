/** Names out of somebody's folder, fit to stand in a line of text: what would break the line or steer a terminal is written out. */

// eslint-disable-next-line no-control-regex
const unfit = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g;
const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** Control characters, line and paragraph separators, and marks that reorder text as `\n`, `\t`, `\u001b`; all else as it is. */
export function escaped(text: string): string {
  return text.replace(unfit, sign => short[sign] ?? `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
