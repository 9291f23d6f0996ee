/** An answer's blocks as elements. The only links are places that the extension checked; they open nothing by themselves. */
import type { Block, Inline, Place } from '../protocol/panel.js';
import { element } from './elements.js';

export type OpenPlace = (place: Place) => void;

/** What each element shows. */
const shown = new WeakMap<Element, Block>();

/**
 * Makes the children of `parent` show `blocks` from the child `from` on. A list keeps the items that did not change: what has
 * the focus there keeps it.
 */
export function replaceBlocks(parent: HTMLElement, blocks: readonly Block[], from: number, open: OpenPlace): void {
  const first = parent.children[from];
  const isKept = first && blocks[0] && renewList(first, blocks[0], open);
  const kept = isKept ? from + 1 : from;
  while (parent.childElementCount > kept) parent.lastElementChild!.remove();
  for (const block of isKept ? blocks.slice(1) : blocks) {
    const made = blockElement(block, open);
    shown.set(made, block);
    parent.append(made);
  }
}

/** Makes `list` show `block`; false where they are not lists alike. */
function renewList(list: Element, block: Block, open: OpenPlace): boolean {
  const before = shown.get(list);
  if (before?.kind !== 'list' || block.kind !== 'list' || before.ordered !== block.ordered) return false;
  const isSame = (item: readonly Inline[], at: number): boolean =>
    JSON.stringify(item) === JSON.stringify(before.items[at]);
  const changed = block.items.findIndex((item, at) => !isSame(item, at));
  const kept = changed < 0 ? block.items.length : changed;
  while (list.childElementCount > kept) list.lastElementChild!.remove();
  list.append(...block.items.slice(kept).map(item => itemElement(item, open)));
  shown.set(list, block);
  return true;
}

function blockElement(block: Block, open: OpenPlace): HTMLElement {
  switch (block.kind) {
    case 'code':
      // Long lines scroll, also with the keyboard.
      return element('pre', { tabindex: '0' }, element('code', {}, block.text));
    case 'list':
      return element(block.ordered ? 'ol' : 'ul', {}, ...block.items.map(item => itemElement(item, open)));
    case 'heading':
      return element('h4', { dir: 'auto' }, ...inlineNodes(block.inlines, open));
    case 'paragraph':
      return element('p', { dir: 'auto' }, ...inlineNodes(block.inlines, open));
  }
}

function itemElement(item: readonly Inline[], open: OpenPlace): HTMLElement {
  return element('li', { dir: 'auto' }, ...inlineNodes(item, open));
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

export function placeText({ path, startLine, endLine, place }: Place): string {
  const lines = startLine === endLine ? `${path}:${startLine}` : `${path}:${startLine}-${endLine}`;
  return place === undefined ? lines : `${lines} (${place})`;
}
