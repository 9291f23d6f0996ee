/** Messages of the editor as the model takes them, with stand-ins of the editor's parts. Right values by hand. */
import assert from 'node:assert/strict';
import { chatMessages, stopReachesProviders } from '../../src/extension/chat-messages.js';

const text = (value: string): object => ({ value });

suite('chat messages', () => {
  test('roles and text; parts of one message are joined by lines', () => {
    assert.deepEqual(
      chatMessages([
        { role: 3, content: [text('Be brief.')] },
        { role: 1, content: [text('Hello'), text('there')] },
        { role: 2, content: [text('Hi.')] },
      ]),
      [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello\nthere' },
        { role: 'assistant', content: 'Hi.' },
      ],
    );
  });

  test('results of tools count as text; calls, pictures and what is unknown do not', () => {
    const content = [
      { callId: '1', content: [text('found'), { value: { tsx: true } }] },
      { callId: '2', name: 'search', input: { q: 'x' } },
      { mimeType: 'image/png', data: new Uint8Array(3) },
      null,
      'loose',
    ];
    assert.deepEqual(chatMessages([{ role: 1, content }]), [{ role: 'user', content: 'found' }]);
  });

  test('a message without text is left out', () => {
    assert.deepEqual(chatMessages([{ role: 1, content: [] }]), []);
  });

  test('Stop reaches a provider from 1.127 on', () => {
    const expected = { '1.104.0': false, '1.126.9': false, '1.127.0': true, '1.139.1-insider': true, '2.0.0': true };
    for (const [version, reaches] of Object.entries(expected))
      assert.equal(stopReachesProviders(version), reaches, version);
  });
});
