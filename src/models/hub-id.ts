/**
 * How people name a model of the hub: `ORG/NAME`, `ORG/NAME@REVISION`, `ORG/NAME/FILE.gguf`, `ORG/NAME@REVISION/FILE.gguf`,
 * or the address of its page. Pure: whether there is such a model, the hub says (hub-api.ts).
 */

export interface HubId {
  /** `ORG/NAME`. */
  readonly repository: string;
  /** Branch, tag or commit; `main` where none is given. */
  readonly revision: string;
  /** Path of one .gguf file in the repository. */
  readonly file?: string;
}

const NAME = String.raw`[A-Za-z0-9][\w.-]{0,95}`;
const PATTERN = new RegExp(String.raw`^(${NAME}/${NAME})(?:@([^@]+?))??(?:/((?:[^/@]+/)*[^/@]+\.gguf))?$`, 'i');
/** `/ORG/NAME`, and what the site adds when a revision or a file is looked at. */
const PAGE = new RegExp(String.raw`^/(${NAME}/${NAME})(?:/(?:tree|blob|resolve)/([^/]+)(?:/(.+\.gguf))?)?/?$`, 'i');

/** Undefined where `text` names nothing of a hub: a path, an odd character, one word. */
export function parseHubId(text: string): HubId | undefined {
  const match = /^https:\/\//i.test(text) ? PAGE.exec(pathOf(text)) : PATTERN.exec(text);
  const [, repository, revision = 'main', file] = match ?? [];
  if (repository === undefined || repository.includes('..') || !isRevision(revision)) return undefined;
  // Two words that end in .gguf are a path that is not there, not a repository.
  if (/\.(gguf|safetensors)$/i.test(repository)) return undefined;
  if (file === undefined) return { repository, revision };
  return file.split('/').every(isPlainName) ? { repository, revision, file } : undefined;
}

/** A name that can lie in a folder without leaving it: no separators, no control characters, no leading dot. */
export function isPlainName(name: string): boolean {
  return /^[\w(][\w .+()=,-]{0,200}$/.test(name) && !name.includes('..');
}

function isRevision(revision: string): boolean {
  return /^\w[\w./-]{0,200}$/.test(revision) && !revision.includes('..');
}

function pathOf(address: string): string {
  try {
    const { hostname, pathname } = new URL(address);
    return /^(www\.)?(huggingface|hf)\.co$/.test(hostname) ? decodeURIComponent(pathname) : '';
  } catch {
    return '';
  }
}
