// What may import what: the rooms and doors of ARCHITECTURE.md, as rules.
const inner = (room, allowed) => ({
  name: `${room}-imports`,
  comment: `src/${room} may import only: ${allowed.join(', ') || 'nothing of the house'}`,
  severity: 'error',
  from: { path: `^src/${room}/` },
  to: { path: '^(src|test)/', pathNot: [`^src/${room}/`, ...allowed.map(a => `^src/${a}$`)] },
});
const door = room => `${room}/index\\.ts`;
const only = (name, module, fromPath) => ({
  name,
  severity: 'error',
  from: { path: '^src/', pathNot: fromPath },
  to: { path: module },
});

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true, pathNot: '^vscode$' } },
    {
      name: 'base-has-no-node',
      severity: 'error',
      from: { path: '^src/base/' },
      to: { dependencyTypes: ['core', 'npm'] },
    },
    {
      name: 'protocol-is-types',
      severity: 'error',
      from: { path: '^src/protocol/' },
      to: { dependencyTypes: ['core'] },
    },
    inner('base', []),
    inner('protocol', []),
    inner('onnx', []),
    inner('engine', [door('base'), door('onnx')]),
    inner('memory', [door('base'), door('engine')]),
    inner('assist', [door('base'), door('engine'), door('memory')]),
    inner('calibrate', ['base', 'engine', 'memory', 'convert'].map(door)),
    inner('convert', [door('base'), door('onnx'), 'engine/graph-contract\\.ts']),
    inner('models', [door('base'), door('convert')]),
    inner('server', ['base', 'protocol', 'engine', 'memory', 'assist', 'models'].map(door)),
    inner('cli', ['base', 'engine', 'memory', 'assist', 'calibrate', 'convert', 'models', 'server'].map(door)),
    inner('extension', [door('base'), door('protocol')]),
    inner('webview', ['protocol/panel\\.ts']),
    only('one-importer-of-onnxruntime', 'onnxruntime-node', '^src/engine/ort\\.ts$'),
    only('one-importer-of-onnx-proto', 'node_modules/onnx-proto', '^src/onnx/graph-builder\\.ts$'),
    only('vscode-only-in-extension', '^vscode$', '^src/extension/'),
    only('lmdb-only-in-store', 'node_modules/lmdb', '^src/memory/store/'),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^out/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.base.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      extensions: ['.ts', '.js', '.mjs', '.cjs', '.json'],
      conditionNames: ['import', 'node', 'require', 'default', 'types'],
    },
  },
};
