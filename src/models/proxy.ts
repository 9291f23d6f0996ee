/**
 * Which proxy the environment names for an address: HTTPS_PROXY, else ALL_PROXY, unless NO_PROXY lists the host (either
 * case of the names). Pure.
 */

/** Address of an http(s) proxy, or undefined for a direct connection. */
export function proxyFor(address: URL, env: NodeJS.ProcessEnv): string | undefined {
  const value = (name: string) => env[name.toLowerCase()] ?? env[name] ?? '';
  const proxy = value('HTTPS_PROXY') || value('ALL_PROXY');
  if (!/^https?:\/\//.test(proxy) || isExempt(address, value('NO_PROXY'))) return undefined;
  return proxy;
}

/** `list`: hosts or domains, with or without a leading dot or `*.`, each with an optional port; `*` is all. */
function isExempt(address: URL, list: string): boolean {
  const port = address.port === '' ? '443' : address.port;
  return list
    .split(/[\s,]+/)
    .filter(Boolean)
    .some(item => {
      if (item === '*') return true;
      const [, domain = item, only] = /^(.*?)(?::(\d+))?$/.exec(item.toLowerCase()) ?? [];
      if (only !== undefined && only !== port) return false;
      const bare = domain.replace(/^\*?\./, '');
      return address.hostname === bare || address.hostname.endsWith(`.${bare}`);
    });
}
