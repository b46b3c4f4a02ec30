import type { ManagerConfig } from '../../shared/contract/config.ts';

export interface SiteFile {
  readonly name: string;
  readonly content: string;
}

const bundleName = 'ca-bundle.pem';

/** Where the certificates lie that are trusted at this site, in an agent's root: its user and its jobs read them there. */
export function bundleIn(root: string): string {
  return `${root}/${bundleName}`;
}

/**
 * What the agent reads of its site from files in its root: one proxy for everything, exceptions as regular expressions,
 * and the certificates that it hands to git (its VstsAgentWebProxy, AgentCertificateManager, GitSourceProvider).
 * `bundle`: all certificates to trust, the system's with the site's, because git takes them instead of its own.
 */
export function siteFiles(
  { proxy }: ManagerConfig,
  root: string,
  bundle: string | undefined,
): readonly SiteFile[] {
  const url = proxy.https ?? proxy.http;
  const bypass = proxy.noProxy.map((rule) => rule.replace(/^\*?\./, '').replaceAll('.', '\\.'));
  return [
    ...(url === undefined ? [] : [{ name: '.proxy', content: `${url}\n` }]),
    ...(url === undefined || bypass.length === 0
      ? []
      : [{ name: '.proxybypass', content: `${bypass.join('\n')}\n` }]),
    ...bundleFile(bundle),
    ...(bundle === undefined
      ? []
      : [{ name: '.certificates', content: JSON.stringify({ caCert: bundleIn(root) }) }]),
  ];
}

/** The certificates alone: config.sh writes the rest itself. */
export function bundleFile(bundle: string | undefined): readonly SiteFile[] {
  return bundle === undefined ? [] : [{ name: bundleName, content: bundle }];
}
