/** Entry of the Ask view: puts the parts together, passes messages between them and the extension. Decides nothing. */
import type { AskStrings, BoxState, ExchangeChange, ExchangeView, FromAskView, ToAskView } from '../protocol/panel.js';
import { Announcer } from './announcer.js';
import { Editor } from './editor.js';
import { element, showText } from './elements.js';
import { ExchangeElement } from './exchange.js';
import { ModelCard } from './model-card.js';
import { QuestionBox } from './question-box.js';

interface Wire {
  readonly received: ToAskView;
  readonly sent: FromAskView;
  readonly kept: { readonly draft: string };
}

const editor = new Editor<Wire>();
const send = (message: FromAskView): void => editor.send(message);

class AskPage {
  private readonly box: QuestionBox;
  private readonly card: ModelCard;
  private readonly announcer = new Announcer();
  private readonly hint = element('p', { class: 'empty' });
  private readonly list = element('div', { class: 'exchanges' });
  private elements = new Map<number, ExchangeElement>();
  private latest: ExchangeView | undefined;

  constructor(private readonly strings: AskStrings) {
    this.box = new QuestionBox(strings, send, draft => editor.keep({ draft }));
    this.card = new ModelCard(strings, send);
    document.body.replaceChildren(
      element('main', {}, this.box.root, this.card.root, this.hint, this.list),
      this.announcer.root,
    );
    this.box.write(editor.kept.draft ?? '');
  }

  showBox(box: BoxState): void {
    this.box.update(box);
    this.card.update(box.model);
    const text = box.folders.length === 0 ? this.strings.noFolder : this.strings.empty;
    showText(this.hint, box.folders.length === 0 || this.elements.size === 0 ? text : undefined);
  }

  /** The latest stands open, the earlier ones fold. */
  showExchanges(exchanges: readonly ExchangeView[]): void {
    const isNew = exchanges[0] !== undefined && exchanges[0].id !== this.latest?.id;
    this.latest = exchanges[0];
    this.elements = new Map(
      exchanges.map(exchange => [exchange.id, new ExchangeElement(exchange, this.strings, send)]),
    );
    this.list.replaceChildren(
      ...exchanges.map((exchange, at) => {
        const { root } = this.elements.get(exchange.id)!;
        if (at === 0) return root;
        return element('details', { class: 'earlier' }, element('summary', { dir: 'auto' }, exchange.title), root);
      }),
    );
    if (isNew && this.isBusy()) {
      const { kind, title } = this.latest!;
      if (kind === 'question' && this.box.question.trim() === title) this.box.write('');
      this.announcer.begin();
      this.announcer.say(this.strings.kinds[kind].working);
    }
    this.box.setBusy(this.isBusy());
  }

  showChange({ exchange, blocksFrom }: ExchangeChange): void {
    const shown = this.elements.get(exchange.id);
    if (!shown) return;
    shown.update(exchange, blocksFrom);
    if (exchange.id !== this.latest?.id) return;
    this.latest = exchange;
    this.box.setBusy(this.isBusy());
    if (exchange.phase === 'writing') this.announcer.follow(shown.spoken);
    else if (exchange.phase === 'working') this.announcer.begin();
    else {
      this.announcer.follow(shown.spoken);
      this.announcer.end();
      const { complete } = this.strings.kinds[exchange.kind];
      this.announcer.say(exchange.problem ?? `${complete} ${exchange.coverage ?? ''}`);
    }
  }

  showCopied(id: number): void {
    this.elements.get(id)?.showCopied();
    this.announcer.say(this.strings.copied);
  }

  focus(text?: string): void {
    this.box.focus(text);
  }

  focusExchange(id: number): void {
    this.elements.get(id)?.focus();
  }

  private isBusy(): boolean {
    return this.latest?.phase === 'working' || this.latest?.phase === 'writing';
  }
}

let page: AskPage | undefined;

editor.listen(message => {
  switch (message.type) {
    case 'start':
      page = new AskPage(message.strings);
      page.showExchanges(message.exchanges);
      page.showBox(message.box);
      break;
    case 'box':
      page?.showBox(message.box);
      break;
    case 'exchanges':
      page?.showExchanges(message.exchanges);
      break;
    case 'exchange':
      page?.showChange(message);
      break;
    case 'copied':
      page?.showCopied(message.id);
      break;
    case 'focus':
      page?.focus(message.text);
      break;
    case 'focusExchange':
      page?.focusExchange(message.id);
      break;
  }
});
send({ type: 'ready' });
