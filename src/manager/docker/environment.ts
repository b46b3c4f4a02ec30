import type { ManagerConfig } from '../../shared/contract/config.ts';

const certificateVariables = [
  'SSL_CERT_FILE',
  'NODE_EXTRA_CA_CERTS',
  'GIT_SSL_CAINFO',
  'CURL_CA_BUNDLE',
  'REQUESTS_CA_BUNDLE',
];

/** The agent translates what it writes on its console, by which it is read (its StringUtil.cs; LC_ALL wins over LANG). */
export const locale = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' } as const;

/**
 * Proxy and certificates by the names that the programs of jobs know; none of them is secret. `ca`: a file with all
 * certificates to trust. OpenSSL reads SSL_CERT_FILE, and neither git nor curl nor Python's requests do.
 */
export function networkVariables({ proxy }: ManagerConfig, ca: string): Record<string, string> {
  const noProxy = proxy.noProxy.join(',');
  return {
    ...(proxy.http === undefined ? {} : { http_proxy: proxy.http, HTTP_PROXY: proxy.http }),
    ...(proxy.https === undefined ? {} : { https_proxy: proxy.https, HTTPS_PROXY: proxy.https }),
    ...(noProxy === '' ? {} : { no_proxy: noProxy, NO_PROXY: noProxy }),
    ...(proxy.ca ? Object.fromEntries(certificateVariables.map((name) => [name, ca])) : {}),
  };
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
