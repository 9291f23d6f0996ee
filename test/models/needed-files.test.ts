/** Which files of a listing make a checkpoint. The right choices are those of the hub's repositories of each kind. */
import assert from 'node:assert/strict';
import { neededFiles } from '../../src/models/needed-files.js';

const list = (...paths: string[]) => paths.map(path => ({ path, bytes: 1 }));
const chosen = (file: string | undefined, ...paths: string[]) => {
  const { files, gguf } = neededFiles('a/b', list(...paths), file);
  return { paths: files.map(({ path }) => path), gguf };
};

suite('needed files', () => {
  test('a Hugging Face repository: settings, tokenizer, one weights file; nothing else', () => {
    const found = chosen(
      undefined,
      '.gitattributes',
      'LICENSE',
      'README.md',
      'config.json',
      'generation_config.json',
      'merges.txt',
      'model.safetensors',
      'onnx/model.onnx',
      'pytorch_model.bin',
      'tokenizer.json',
      'tokenizer_config.json',
      'vocab.json',
      'modeling_custom.py',
    );
    assert.deepEqual(found, {
      paths: ['config.json', 'generation_config.json', 'tokenizer.json', 'tokenizer_config.json', 'model.safetensors'],
      gguf: undefined,
    });
  });

  test('without tokenizer.json its older form; with an index all shards', () => {
    const shards = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
    const found = chosen(
      undefined,
      ...shards,
      'model.safetensors.index.json',
      'config.json',
      'vocab.json',
      'merges.txt',
      'chat_template.jinja',
    );
    assert.deepEqual(found.paths, [
      'config.json',
      'chat_template.jinja',
      'vocab.json',
      'merges.txt',
      'model.safetensors.index.json',
      ...shards,
    ]);
    for (const missing of shards) {
      const rest = shards.filter(name => name !== missing);
      assert.throws(() => chosen(undefined, 'config.json', 'model.safetensors.index.json', ...rest), {
        code: 'unsupported',
        message: /not all there/,
      });
    }
  });

  test('one GGUF is taken, one of several has to be named', () => {
    assert.deepEqual(chosen(undefined, 'README.md', 'x/m.gguf', 'mmproj-m.gguf'), {
      paths: ['x/m.gguf'],
      gguf: 'x/m.gguf',
    });
    assert.deepEqual(chosen('m-Q8_0.gguf', 'm-Q4_0.gguf', 'm-Q8_0.gguf').paths, ['m-Q8_0.gguf']);
    assert.throws(() => chosen(undefined, 'm-Q4_0.gguf', 'm-Q8_0.gguf'), {
      code: 'usage',
      message: 'a/b holds 2 GGUF files: name one of them, as in a/b/m-Q4_0.gguf (there are m-Q4_0.gguf, m-Q8_0.gguf).',
    });
    assert.throws(() => chosen('m.gguf', 'm-Q4_0.gguf'), {
      code: 'not-found',
      message: /has no file "m\.gguf"; there are m-Q4_0\.gguf/,
    });
    assert.throws(() => chosen('m.gguf', 'config.json'), { code: 'not-found', message: /holds no GGUF file/ });
    assert.throws(() => chosen('m-00001-of-00002.gguf', 'm-00001-of-00002.gguf'), {
      code: 'unsupported',
      message: /split/,
    });
  });

  test('weights of another kind are named', () => {
    const cases: [string[], RegExp][] = [
      [
        ['config.json', 'pytorch_model.bin'],
        /holds no weights that Longview reads .*; there is only pytorch_model\.bin\.$/,
      ],
      [['adapter_config.json', 'adapter_model.safetensors'], /it is an adapter/],
      [['README.md'], /it holds no weights at all/],
      [['model.safetensors'], /no config\.json/],
    ];
    for (const [paths, message] of cases)
      assert.throws(() => chosen(undefined, ...paths), { code: 'unsupported', message });
  });

  test('names that would leave the folder are never chosen, and are shown quoted', () => {
    const odd = ['../model.safetensors', '/etc/model.safetensors', 'sub/config.json', '..\\x.gguf', '../../x.gguf\n'];
    const found = chosen(undefined, ...odd, 'config.json', 'model.safetensors');
    assert.deepEqual(found.paths, ['config.json', 'model.safetensors']);
    assert.throws(() => chosen(undefined, '../x.gguf'), {
      code: 'unsupported',
      message: /"\.\.\/x\.gguf" is no file name/,
    });
    assert.throws(() => chosen(undefined, 'evil\n.bin'), { message: /there is only "evil\\n\.bin"/ });
  });
});
