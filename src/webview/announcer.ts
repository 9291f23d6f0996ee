/**
 * Tells a screen reader what happens, politely: whole sentences of the answer while it is written, not every word, and
 * nothing twice. Lives beside what is shown, so that redrawing is not read out.
 */
import { element } from './elements.js';

const everyMs = 1500;
const mostLines = 8;

export class Announcer {
  readonly root = element('div', { class: 'unseen', role: 'status', 'aria-live': 'polite', 'aria-atomic': 'false' });
  private timer: number | undefined;
  private written = '';
  private said = 0;

  say(text: string): void {
    this.root.append(element('p', {}, text));
    while (this.root.childElementCount > mostLines) this.root.firstElementChild!.remove();
  }

  begin(): void {
    window.clearTimeout(this.timer);
    this.timer = undefined;
    this.written = '';
    this.said = 0;
  }

  /** `text`: all that is written so far. */
  follow(text: string): void {
    this.written = text;
    this.timer ??= window.setTimeout(() => {
      this.timer = undefined;
      this.sayUpTo(lastSentenceEnd(this.written));
    }, everyMs);
  }

  /** The rest of what is written. */
  end(): void {
    window.clearTimeout(this.timer);
    this.timer = undefined;
    this.sayUpTo(this.written.length);
  }

  private sayUpTo(end: number): void {
    const text = this.written.slice(this.said, end).trim();
    this.said = Math.max(this.said, end);
    if (text !== '') this.say(text);
  }
}

function lastSentenceEnd(text: string): number {
  const ends = [...text.matchAll(/[.!?。！？:](?=\s)|\n/g)];
  const last = ends.at(-1);
  return last ? last.index + 1 : 0;
}
