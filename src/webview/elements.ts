/** Elements from plain data. Text goes in as text only: nothing here, or anywhere in this room, parses HTML. */
type Child = Node | string;

interface Attributes {
  readonly class?: string;
  readonly [name: string]: string | undefined;
}

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function button(label: string, look: 'primary' | 'secondary' | 'quiet', onClick: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', class: look }, label);
  made.addEventListener('click', onClick);
  return made;
}

/** Text of a message with `{0}` filled in. */
export function filled(text: string, value: string | number): string {
  return text.replace('{0}', () => String(value));
}

/** Shows an element with this text, or hides it where there is none. */
export function showText(target: HTMLElement, text: string | undefined): void {
  if (target.textContent !== (text ?? '')) target.textContent = text ?? '';
  target.hidden = text === undefined || text === '';
}
