/**
 * Files that hold secrets, told by name, by the folder they lie in, by a private key at their beginning or by a whole one
 * anywhere in them. They are not read unless the user named them; no ignore rule lifts that. Leans to the safe side for data files (`secrets.yaml`), but
 * never takes source code (`credentials.ts`) or examples (`.env.example`) for a secret. Reads nothing itself.
 */

/** Folders in which everything is a secret. */
const FOLDERS: ReadonlySet<string> = new Set(['.aws', '.azure', '.gnupg', '.kube', '.ssh', '.password-store']);

/** Whole names, in lower case. */
const NAMES: ReadonlySet<string> = new Set([
  '.npmrc',
  '.pypirc',
  '.netrc',
  '_netrc',
  '.pgpass',
  '.my.cnf',
  '.htpasswd',
  '.git-credentials',
  '.dockercfg',
  '.dockerconfigjson',
  '.vault-token',
  '.s3cfg',
  '.boto',
  '.envrc',
  'application_default_credentials.json',
  'master.key',
]);

const DATA = '(\\.(json|ya?ml|toml|ini|xml|cfg|conf|properties|csv|txt|plist|env|enc))*';

const PATTERNS: readonly RegExp[] = [
  // Environment files: .env, .env.local, .env-prod, prod.env.
  /^\.env([._-].*)?$/,
  /\.env$/,
  // Keys, certificates with keys, key stores, password stores.
  /\.(pem|key|p12|pfx|pkcs12|keystore|jks|bks|ppk|kdbx?|agekey|ovpn)$/,
  /^id_(rsa|dsa|ecdsa|ed25519)(?!.*\.pub$)/,
  // Credentials and secrets kept as data.
  new RegExp(`^[._]?(credentials?|secrets?)${DATA}$`),
  /(service[-_]?account|client[-_]secret).*\.json$/,
  // State and variables of Terraform hold passwords in plain text.
  /\.(tfstate(\.backup)?|tfvars(\.json)?)$/,
];

/** Environment files that show which variables exist: documentation. */
const EXAMPLE = /(^|[._-])(example|sample|template|tmpl|dist|defaults?)([._-]|$)/;

/** Why a file of this name is a secret, if it is. */
export function secretByName(name: string): string | undefined {
  const lower = name.toLowerCase();
  const isSecret = NAMES.has(lower) || PATTERNS.some(pattern => pattern.test(lower));
  if (!isSecret || (lower.includes('env') && EXAMPLE.test(lower))) return undefined;
  return 'by its name';
}

/** True if all files in a folder of this name are secrets. */
export function isSecretFolder(name: string): boolean {
  return FOLDERS.has(name.toLowerCase());
}

const KEY_HEADER = /^-----BEGIN [A-Z0-9 ]*PRIVATE KEY( BLOCK)?-----/m;
const PUTTY_HEADER = /^PuTTY-User-Key-File-\d/;
/** The header must begin within this many characters: a document that shows the header of a key further down is no key. */
const HEADER_WITHIN = 512;

/** Why a file that begins so is a secret, if it is. `start` is its first text, of some kilobytes. */
export function secretByContent(start: string): string | undefined {
  if (KEY_HEADER.test(start.slice(0, HEADER_WITHIN)) || PUTTY_HEADER.test(start)) return 'a private key';
  if (/"type"\s*:\s*"service_account"/.test(start) && start.includes('"private_key"')) return 'a service account';
  return holdsPrivateKey(start) ? 'a private key' : undefined;
}

/** RFC 7468; PGP's armour (RFC 9580) says BLOCK too. */
const KEY_MARKS = /-----(BEGIN|END) ([A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?)-----/g;
/** `Proc-Type: …`, `Version: …` */
const KEY_ATTRIBUTE = /^\W*[A-Za-z][\w-]*: /;
/** What stands around the lines of a key in source code, in quoted mail, in diffs and comments. */
const AROUND_KEY_LINES = /[\s"'`,;#*>|\\()-]/g;
/** The shortest, Ed25519 in PKCS #8, has 64 characters. */
const KEY_BODY = /^[A-Za-z0-9+/=]{60,20000}$/;
/** Fewer different characters are a stand-in (`AAAA…`, `xxxx…`). */
const LEAST_DIFFERENT = 16;

/**
 * True for a text that holds a whole private key: header, base64, end, with line ends as such or written as `\n`. One that
 * is cut short or left out by the text (`...`) does not count.
 */
export function holdsPrivateKey(text: string): boolean {
  let open: { readonly label: string; readonly end: number } | undefined;
  for (const { 0: mark, 1: kind, 2: label = '', index } of text.matchAll(KEY_MARKS)) {
    if (kind === 'END' && open?.label === label && isKeyBody(text.slice(open.end, index))) return true;
    open = kind === 'BEGIN' ? { label, end: index + mark.length } : undefined;
  }
  return false;
}

function isKeyBody(body: string): boolean {
  const lines = body.split(/\\r|\\n|[\r\n]/).filter(line => !KEY_ATTRIBUTE.test(line));
  const base64 = lines.join('').replace(AROUND_KEY_LINES, '');
  return KEY_BODY.test(base64) && new Set(base64).size >= LEAST_DIFFERENT;
}
