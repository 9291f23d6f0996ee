/**
 * One question or summary and its result on the screen. Elements are made once and filled as news come: what stands above new words
 * does not move while they are written.
 */
import type { AskStrings, ExchangeView, FromAskView, Remedy } from '../protocol/panel.js';
import { button, element, showText } from './elements.js';
import { placeLink, placeText, replaceBlocks, type OpenPlace } from './markup.js';

export class ExchangeElement {
  readonly root: HTMLElement;
  readonly answer = element('div', { class: 'answer' });
  private readonly heading: HTMLElement;
  private readonly recalled = element('ul', { class: 'places' });
  private readonly recalledPart: HTMLElement;
  private readonly progressText = element('span', { class: 'progress-text', dir: 'auto' });
  private readonly bar = element('progress', { max: '1' });
  private readonly progressPart: HTMLElement;
  private readonly answerNow: HTMLButtonElement;
  private readonly problem = element('p', { class: 'problem', dir: 'auto' });
  private readonly remedies = element('div', { class: 'row remedies' });
  private readonly coverage = element('p', { class: 'coverage' });
  private readonly figures = element('p', { class: 'figures' });
  private readonly actions: HTMLElement;
  private readonly copy: HTMLButtonElement;
  private recalledKey = '';
  private remediesKey = '';

  constructor(
    private view: ExchangeView,
    private readonly strings: AskStrings,
    private readonly send: (message: FromAskView) => void,
  ) {
    const { id, kind, title, selection, folder } = view;
    const words = strings.kinds[kind];
    // Takes the focus when it is brought up, but is no stop of Tab.
    this.heading = element('h2', { id: `title-${id}`, dir: 'auto', tabindex: '-1' }, title);
    const context = element('p', { class: 'context' });
    if (selection) {
      const [before, after] = strings.aboutSelection.split('{0}');
      const link = placeLink(placeText(selection), selection, this.open);
      context.append(element('span', {}, before ?? '', link, after ?? ''));
    }
    if (folder !== undefined) context.append(element('span', { class: 'folder-name', dir: 'auto' }, folder));
    context.hidden = context.childNodes.length === 0;
    this.recalledPart = element(
      'section',
      { 'aria-labelledby': `recalled-${id}` },
      element('h3', { id: `recalled-${id}` }, strings.recalled),
      this.recalled,
    );
    this.bar.setAttribute('aria-label', words.working);
    this.answerNow = button(strings.answerNow, 'secondary', () => send({ type: 'answerNow' }));
    this.progressPart = element('div', { class: 'progress' }, this.progressText, this.bar, this.answerNow);
    this.copy = button(strings.copy, 'quiet', () => send({ type: 'copy', id }));
    const openDocument = button(strings.openDocument, 'quiet', () => send({ type: 'openDocument', id }));
    this.actions = element('div', { class: 'row actions' }, this.copy, openDocument);
    this.answer.setAttribute('role', 'group');
    this.answer.setAttribute('aria-label', words.result);
    this.root = element(
      'article',
      { 'aria-labelledby': this.heading.id },
      this.heading,
      context,
      this.recalledPart,
      this.answer,
      this.problem,
      this.remedies,
      this.coverage,
      this.figures,
      this.actions,
      this.progressPart,
    );
    this.update(view, 0);
  }

  /** `view.blocks` stand for those from `blocksFrom` on. */
  update(view: ExchangeView, blocksFrom: number): void {
    this.view = view;
    const isAtWork = view.phase === 'working' || view.phase === 'writing';
    this.showRecalled();
    replaceBlocks(this.answer, view.blocks, blocksFrom, this.open);
    this.answer.hidden = this.answer.childElementCount === 0;
    showText(this.problem, view.problem);
    this.problem.classList.toggle('failed', view.phase === 'failed');
    this.showRemedies();
    showText(this.coverage, view.coverage);
    showText(this.figures, view.figures);
    // The words of an answer are checked when it is complete, each sentence of a summary before it is shown.
    this.actions.hidden = this.answer.hidden || (isAtWork && view.kind === 'question');
    this.progressPart.hidden = !isAtWork;
    this.progressText.textContent = view.progress ?? '';
    if (view.fraction === undefined) this.bar.removeAttribute('value');
    else this.bar.value = view.fraction;
    this.answerNow.hidden = !view.canAnswerNow;
  }

  focus(): void {
    this.heading.focus();
  }

  /** The words so far, parts that belong together on one line. */
  get spoken(): string {
    const parts = [...this.answer.querySelectorAll<HTMLElement>('p, h4, li, pre')].map(part => part.textContent);
    // A sentence of a summary is complete when it comes.
    return parts.join('\n') + (this.view.kind === 'summary' ? '\n' : '');
  }

  /** Says beside the button that it worked. */
  showCopied(): void {
    this.copy.textContent = this.strings.copied;
    window.setTimeout(() => (this.copy.textContent = this.strings.copy), 2000);
  }

  private readonly open: OpenPlace = place => this.send({ type: 'open', id: this.view.id, place });

  private showRecalled(): void {
    const { recalled } = this.view;
    this.recalledPart.hidden = recalled.length === 0;
    const key = JSON.stringify(recalled);
    if (key === this.recalledKey) return;
    this.recalledKey = key;
    const links = recalled.map(place => element('li', {}, placeLink(placeText(place), place, this.open)));
    this.recalled.replaceChildren(...links);
  }

  private showRemedies(): void {
    const { remedies, id } = this.view;
    this.remedies.hidden = remedies.length === 0;
    const key = remedies.join();
    if (key === this.remediesKey) return;
    this.remediesKey = key;
    const act = (remedy: Remedy): void => this.send({ type: 'remedy', id, remedy });
    this.remedies.replaceChildren(
      ...remedies.map(remedy => button(this.strings.remedies[remedy], 'secondary', () => act(remedy))),
    );
  }
}
