/** An answer's blocks as elements. The only links are places that the extension checked; they open nothing by themselves. */
import type { Block, Inline, Place } from '../protocol/panel.js';
import { element } from './elements.js';

export type OpenPlace = (place: Place) => void;

export function blockElement(block: Block, open: OpenPlace): HTMLElement {
  switch (block.kind) {
    case 'code':
      // Long lines scroll, also with the keyboard.
      return element('pre', { tabindex: '0' }, element('code', {}, block.text));
    case 'list':
      return element(
        block.ordered ? 'ol' : 'ul',
        {},
        ...block.items.map(item => element('li', { dir: 'auto' }, ...inlineNodes(item, open))),
      );
    case 'heading':
      return element('h4', { dir: 'auto' }, ...inlineNodes(block.inlines, open));
    case 'paragraph':
      return element('p', { dir: 'auto' }, ...inlineNodes(block.inlines, open));
  }
}

function inlineNodes(inlines: readonly Inline[], open: OpenPlace): (Node | string)[] {
  return inlines.map(inline => {
    switch (inline.kind) {
      case 'text':
        return inline.text;
      case 'code':
        return element('code', { dir: 'ltr' }, inline.text);
      case 'strong':
        return element('strong', {}, ...inlineNodes(inline.inlines, open));
      case 'emphasis':
        return element('em', {}, ...inlineNodes(inline.inlines, open));
      case 'struck':
        return element('del', { dir: 'ltr' }, inline.text);
      case 'place':
        return placeLink(inline.text, inline.place, open);
    }
  });
}

/** An anchor without an address breaks between lines as text does, which a button does not; the editor is asked to open it. */
export function placeLink(text: string, place: Place, open: OpenPlace): HTMLElement {
  const link = element('a', { role: 'link', tabindex: '0', class: 'place', dir: 'ltr' }, text);
  link.addEventListener('click', () => open(place));
  link.addEventListener('keydown', event => {
    if (event.key !== 'Enter') return;
    event.preventDefault();
    open(place);
  });
  return link;
}

export function placeText({ path, startLine, endLine }: Place): string {
  return startLine === endLine ? `${path}:${startLine}` : `${path}:${startLine}-${endLine}`;
}
