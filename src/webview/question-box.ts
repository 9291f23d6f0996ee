/** Where a question is written: folder, lines it is about, text, Ask or Stop, the questions asked before. */
import type { AskStrings, BoxState, FromAskView } from '../protocol/panel.js';
import { button, element, filled } from './elements.js';
import { placeText } from './markup.js';
import { QuestionRecall } from './question-recall.js';

export class QuestionBox {
  readonly root: HTMLFormElement;
  private readonly text: HTMLTextAreaElement;
  private readonly submit: HTMLButtonElement;
  private readonly folders: HTMLSelectElement;
  private readonly folderPart: HTMLElement;
  private readonly selection = element('span', { dir: 'ltr' });
  private readonly selectionPart: HTMLElement;
  private readonly historyList = element('ul', { class: 'history-list' });
  private readonly history: HTMLDetailsElement;
  private readonly recall = new QuestionRecall();
  private isBusy = false;
  private historyKey = '';

  constructor(
    private readonly strings: AskStrings,
    private readonly send: (message: FromAskView) => void,
    private readonly onDraft: (draft: string) => void,
  ) {
    this.text = element('textarea', {
      id: 'question',
      rows: '3',
      dir: 'auto',
      placeholder: strings.placeholder,
      'aria-describedby': 'keys',
      'aria-label': strings.question,
    });
    this.text.addEventListener('keydown', event => this.onKey(event));
    this.text.addEventListener('input', () => this.onInput());
    this.submit = element('button', { type: 'submit', class: 'primary ask' }, strings.ask);
    this.folders = element('select', { 'aria-label': strings.folder });
    this.folders.addEventListener('change', () => send({ type: 'folder', uri: this.folders.value }));
    this.folderPart = element('div', { class: 'folder' }, this.folders);
    const drop = button('×', 'quiet', () => send({ type: 'dropSelection' }));
    drop.setAttribute('aria-label', strings.dropSelection);
    drop.title = strings.dropSelection;
    this.selectionPart = element('div', { class: 'selection' }, this.selection, drop);
    const clear = button(strings.clearHistory, 'quiet', () => send({ type: 'clearHistory' }));
    this.history = element(
      'details',
      { class: 'history' },
      element('summary', {}, strings.history),
      this.historyList,
      clear,
    );
    this.root = element(
      'form',
      { class: 'box', 'aria-label': strings.question },
      this.folderPart,
      this.selectionPart,
      this.text,
      element('div', { class: 'row' }, element('span', { id: 'keys', class: 'hint' }, strings.keys), this.submit),
      this.history,
    );
    this.root.addEventListener('submit', event => {
      event.preventDefault();
      if (this.isBusy) send({ type: 'stop' });
      else this.ask();
    });
  }

  focus(text?: string): void {
    if (text !== undefined) this.write(text);
    this.text.focus();
  }

  get question(): string {
    return this.text.value;
  }

  write(text: string): void {
    this.text.value = text;
    this.text.setSelectionRange(text.length, text.length);
    this.onDraft(text);
  }

  update({ folders, folder, selection, history }: BoxState): void {
    this.folderPart.hidden = folders.length < 2;
    this.folders.replaceChildren(...folders.map(({ uri, label }) => element('option', { value: uri }, label)));
    if (folder !== undefined) this.folders.value = folder;
    this.selectionPart.hidden = selection === undefined;
    if (selection) this.selection.textContent = filled(this.strings.aboutSelection, placeText(selection));
    this.submit.disabled = folders.length === 0;
    this.text.disabled = folders.length === 0;
    this.recall.questions = history;
    this.showHistory(history);
  }

  /** While a question is answered the same button stops it, so that the focus stays where it is. */
  setBusy(isBusy: boolean): void {
    this.isBusy = isBusy;
    this.submit.textContent = isBusy ? this.strings.stop : this.strings.ask;
    this.submit.classList.toggle('stop', isBusy);
  }

  private ask(): void {
    const question = this.text.value.trim();
    if (question !== '') this.send({ type: 'ask', question });
  }

  private onInput(): void {
    this.recall.leave();
    this.onDraft(this.text.value);
  }

  private onKey(event: KeyboardEvent): void {
    // An Enter that ends the composition of a character asks nothing.
    if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      if (!this.isBusy) this.ask();
    } else if ((event.key === 'ArrowUp' || event.key === 'ArrowDown') && !event.shiftKey) {
      const isUp = event.key === 'ArrowUp';
      const { selectionStart, selectionEnd, value } = this.text;
      const beyond = isUp ? value.slice(0, selectionStart) : value.slice(selectionEnd);
      if (selectionStart !== selectionEnd || beyond.includes('\n')) return;
      const recalled = isUp ? this.recall.older(value) : this.recall.newer();
      if (recalled === undefined) return;
      event.preventDefault();
      this.write(recalled);
    }
  }

  private showHistory(history: readonly string[]): void {
    this.history.hidden = history.length === 0;
    const key = JSON.stringify(history);
    if (key === this.historyKey) return;
    this.historyKey = key;
    this.historyList.replaceChildren(
      ...history.map(question => {
        const take = button(question, 'quiet', () => {
          this.history.open = false;
          this.focus(question);
        });
        take.dir = 'auto';
        return element('li', {}, take);
      }),
    );
  }
}
