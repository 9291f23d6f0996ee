/**
 * Shows words on a terminal while they are written, and takes them away again: what stays on the screen is the checked answer.
 * Does nothing where stderr is no terminal.
 */

export interface LiveText {
  add(text: string): void;
  clear(): void;
}

export function createLiveText(stream: NodeJS.WriteStream): LiveText {
  let shown = '';
  return {
    add: text => {
      if (!stream.isTTY) return;
      // What has scrolled out of sight can't be taken back, so it stops one line short of a full screen.
      if (rowsOf(shown + text, stream.columns) >= stream.rows) return;
      shown += text;
      stream.write(text);
    },
    clear: () => {
      if (shown === '') return;
      const up = rowsOf(shown, stream.columns) - 1;
      stream.write(`\r${up > 0 ? `\u001b[${up}A` : ''}\u001b[J`);
      shown = '';
    },
  };
}

/** Rows that a text takes on a terminal of that many columns. */
export function rowsOf(text: string, columns: number): number {
  let rows = 0;
  for (const line of text.split('\n')) rows += Math.max(1, Math.ceil(widthOf(line) / Math.max(1, columns)));
  return rows;
}

const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}]/u;

function widthOf(line: string): number {
  let width = 0;
  for (const character of line) width += wide.test(character) ? 2 : 1;
  return width;
}
