/** What is said where there is no model yet: size, source, licence, and the consent to get it. */
import type { AskStrings, FromAskView, ModelView } from '../protocol/panel.js';
import { button, element, showText } from './elements.js';

export class ModelCard {
  readonly root: HTMLElement;
  private readonly name = element('h2');
  private readonly promise = element('p');
  private readonly facts = element('ul');
  private readonly problem = element('p', { class: 'problem failed', role: 'alert' });
  private readonly progressText = element('span', { class: 'progress-text' });
  private readonly bar = element('progress', { max: '1' });
  private readonly progress: HTMLElement;
  private readonly install: HTMLButtonElement;
  private readonly cancel: HTMLButtonElement;

  constructor(
    private readonly strings: AskStrings,
    send: (message: FromAskView) => void,
  ) {
    this.install = button(strings.install, 'primary', () => send({ type: 'install' }));
    this.cancel = button(strings.cancel, 'secondary', () => send({ type: 'cancelInstall' }));
    this.bar.setAttribute('aria-label', strings.installing);
    this.progress = element('div', { class: 'progress' }, this.progressText, this.bar);
    const row = element('div', { class: 'row' }, this.install, this.cancel);
    this.root = element(
      'section',
      { class: 'model', 'aria-label': strings.modelNeeded },
      this.name,
      this.promise,
      this.facts,
      this.problem,
      this.progress,
      row,
    );
    this.root.hidden = true;
  }

  update(model: ModelView): void {
    this.root.hidden = model.kind !== 'missing' && model.kind !== 'installing';
    if (model.kind !== 'missing' && model.kind !== 'installing') return;
    const hadFocus = this.root.contains(document.activeElement);
    this.name.textContent = model.name;
    const isMissing = model.kind === 'missing';
    this.promise.textContent = isMissing ? this.strings.modelPromise : this.strings.installing;
    this.install.hidden = !isMissing;
    this.cancel.hidden = isMissing;
    this.progress.hidden = isMissing;
    this.facts.hidden = !isMissing;
    showText(this.problem, isMissing ? model.problem : undefined);
    if (isMissing) this.facts.replaceChildren(...model.facts.map(fact => element('li', {}, fact)));
    else {
      this.progressText.textContent = model.progress ?? '';
      if (model.fraction === undefined) this.bar.removeAttribute('value');
      else this.bar.value = model.fraction;
    }
    // The button that had the focus may be hidden now.
    if (hadFocus && document.activeElement === document.body) (isMissing ? this.install : this.cancel).focus();
  }
}
