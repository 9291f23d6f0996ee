/** Messages of the editor's chat as the model takes them: roles and text. Knows the editor's types by shape only. */
import type { GenerateParams } from '../protocol/index.js';

type ChatMessages = GenerateParams['messages'];

/** What `LanguageModelChatRequestMessage` is to this file. Roles: 1 user, 2 assistant; 3, where there is one, system. */
export interface EditorMessage {
  readonly role: number;
  readonly content: readonly unknown[];
}

const roles = new Map<number, ChatMessages[number]['role']>([
  [1, 'user'],
  [2, 'assistant'],
  [3, 'system'],
]);

/** Messages without any text are left out, e.g. pictures, which the model cannot see. */
export function chatMessages(messages: readonly EditorMessage[]): ChatMessages {
  return messages
    .map(({ role, content }) => ({
      role: roles.get(role) ?? 'user',
      content: content.map(textOf).filter(Boolean).join('\n'),
    }))
    .filter(message => message.content !== '');
}

/** Text parts hold a string in `value`, results of tools hold parts in `content`. */
function textOf(part: unknown): string {
  if (typeof part !== 'object' || part === null) return '';
  const { value, content } = part as { value?: unknown; content?: unknown };
  if (typeof value === 'string') return value;
  return Array.isArray(content) ? content.map(textOf).filter(Boolean).join('\n') : '';
}

/** Whether a chat's Stop reaches a model's provider: from VS Code 1.127 on. */
export function stopReachesProviders(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 127);
}
