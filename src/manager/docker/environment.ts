import type { ManagerConfig } from '../../contract/config.ts';

/** Where the site's certificates lie inside a container. */
export const caInside = '/azp-fleet/ca.pem';

/** The agent translates what it writes on its console, by which it is read (its StringUtil.cs; LC_ALL wins over LANG). */
export const locale = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' } as const;

/** Proxy and certificates by the names that the programs of jobs know; none of them is secret. */
export function networkVariables({ proxy }: ManagerConfig, ca: string): Record<string, string> {
  const noProxy = proxy.noProxy.join(',');
  return {
    ...(proxy.http === undefined ? {} : { http_proxy: proxy.http, HTTP_PROXY: proxy.http }),
    ...(proxy.https === undefined ? {} : { https_proxy: proxy.https, HTTPS_PROXY: proxy.https }),
    ...(noProxy === '' ? {} : { no_proxy: noProxy, NO_PROXY: noProxy }),
    // The system's own certificates stay in force beside these.
    ...(proxy.ca ? { SSL_CERT_FILE: ca, NODE_EXTRA_CA_CERTS: ca } : {}),
  };
}

/** The agent itself reads its proxy from files in its root; exceptions are regular expressions there. */
export function proxyFiles({
  proxy,
}: ManagerConfig): readonly { readonly name: string; readonly content: string }[] {
  const url = proxy.https ?? proxy.http;
  if (url === undefined) return [];
  const bypass = proxy.noProxy.map((rule) => rule.replace(/^\*?\./, '').replaceAll('.', '\\.'));
  return [
    { name: '.proxy', content: `${url}\n` },
    ...(bypass.length === 0 ? [] : [{ name: '.proxybypass', content: `${bypass.join('\n')}\n` }]),
  ];
}

/** `NAME=value` lines; what only steers the agent is kept from becoming a capability of it. */
export function variableLines(
  steering: Readonly<Record<string, string>>,
  published: Readonly<Record<string, string>>,
): string[] {
  const ignored = [...Object.keys(steering), 'VSO_AGENT_IGNORE'].join(',');
  return Object.entries({ ...steering, ...published, VSO_AGENT_IGNORE: ignored }).map(
    ([name, value]) => `${name}=${value}`,
  );
}
