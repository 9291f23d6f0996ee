/** What names a model of the hub, and what does not. Forms are those of the hub's site and its own tools. */
import assert from 'node:assert/strict';
import { isPlainName, parseHubId } from '../../src/models/hub-id.js';

suite('hub id', () => {
  test('repository, revision, file', () => {
    const named: [string, ReturnType<typeof parseHubId>][] = [
      ['Qwen/Qwen2.5-0.5B', { repository: 'Qwen/Qwen2.5-0.5B', revision: 'main' }],
      ['a/b@v1.0', { repository: 'a/b', revision: 'v1.0' }],
      ['a/b@refs/pr/1', { repository: 'a/b', revision: 'refs/pr/1' }],
      ['a/b/c-Q4_0.gguf', { repository: 'a/b', revision: 'main', file: 'c-Q4_0.gguf' }],
      ['a/b@v1/c.gguf', { repository: 'a/b', revision: 'v1', file: 'c.gguf' }],
      ['a/b/q4/c.GGUF', { repository: 'a/b', revision: 'main', file: 'q4/c.GGUF' }],
      ['https://huggingface.co/a/b', { repository: 'a/b', revision: 'main' }],
      ['https://huggingface.co/a/b/tree/v2', { repository: 'a/b', revision: 'v2' }],
      [
        'https://huggingface.co/a/b/blob/main/c%20(1).gguf?download=true',
        { repository: 'a/b', revision: 'main', file: 'c (1).gguf' },
      ],
    ];
    for (const [text, id] of named) assert.deepEqual(parseHubId(text), id, text);
  });

  test('paths, single words, files that are not there, other hosts, and what would leave a folder', () => {
    const others = [
      '',
      'a',
      'a/b/c',
      '/a/b',
      './a/b',
      '~/a',
      'a/b.gguf',
      'a/model.safetensors',
      'a/b\nc',
      'a/b@',
      '../b',
    ];
    const escapes = ['a/..', 'a/b/../c.gguf', 'a/b@../x', 'a/b@v1/../c.gguf', 'a/b@..%2fx', 'a\\b/c', 'a/b/.c.gguf'];
    const hosts = ['https://example.org/a/b', 'http://huggingface.co/a/b', 'https://huggingface.co/a'];
    for (const text of [...others, ...escapes, ...hosts]) assert.equal(parseHubId(text), undefined, text);
  });

  test('plain names', () => {
    for (const name of ['model.gguf', 'A b (1), c+d=e.gguf']) assert.ok(isPlainName(name), name);
    for (const name of ['', '.', '..', 'a/b', 'a\\b', '.a', 'a..b', 'a\nb', 'a\0', 'a:b', ' a']) {
      assert.ok(!isPlainName(name), JSON.stringify(name));
    }
  });
});
