/**
 * One question and its answer on the screen. Elements are made once and filled as news come: what stands above new words
 * does not move while they are written.
 */
import type { AskStrings, ExchangeView, FromAskView, Remedy } from '../protocol/panel.js';
import { button, element, showText } from './elements.js';
import { blockElement, placeLink, placeText, type OpenPlace } from './markup.js';

export class ExchangeElement {
  readonly root: HTMLElement;
  readonly answer = element('div', { class: 'answer' });
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
    const { id, question, selection, folder } = view;
    const heading = element('h2', { id: `question-${id}`, dir: 'auto' }, question);
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
    this.bar.setAttribute('aria-label', strings.working);
    this.answerNow = button(strings.answerNow, 'secondary', () => send({ type: 'answerNow' }));
    this.progressPart = element('div', { class: 'progress' }, this.progressText, this.bar, this.answerNow);
    this.copy = button(strings.copy, 'quiet', () => send({ type: 'copy', id }));
    const openDocument = button(strings.openDocument, 'quiet', () => send({ type: 'openDocument', id }));
    this.actions = element('div', { class: 'row actions' }, this.copy, openDocument);
    this.answer.setAttribute('role', 'group');
    this.answer.setAttribute('aria-label', strings.answer);
    this.root = element(
      'article',
      { 'aria-labelledby': heading.id },
      heading,
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
    while (this.answer.childElementCount > blocksFrom) this.answer.lastElementChild!.remove();
    this.answer.append(...view.blocks.map(block => blockElement(block, this.open)));
    this.answer.hidden = this.answer.childElementCount === 0;
    showText(this.problem, view.problem);
    this.problem.classList.toggle('failed', view.phase === 'failed');
    this.showRemedies();
    showText(this.coverage, view.coverage);
    showText(this.figures, view.figures);
    this.actions.hidden = isAtWork || this.answer.hidden;
    this.progressPart.hidden = !isAtWork;
    this.progressText.textContent = view.progress ?? '';
    if (view.fraction === undefined) this.bar.removeAttribute('value');
    else this.bar.value = view.fraction;
    this.answerNow.hidden = !view.canAnswerNow;
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
