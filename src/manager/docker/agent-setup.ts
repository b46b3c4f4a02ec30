import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { ImageConfig, ManagerConfig } from '../../shared/contract/config.ts';
import { AgentLayout } from '../../shared/image/layout.ts';

/**
 * Ends the agent's session with the server, in versions 4 and 5; of SIGTERM version 5 dies at once, and its session
 * blocks its name for minutes (.NET 10 no longer raises AssemblyLoadContext.Unloading on it).
 */
export const stopSignal = 'SIGINT';

/**
 * Shell text: a home that can be written, with the folder below which the agent remembers the server's addresses.
 * Without it each of its connections costs seconds (its XmlUtility.OpenFileHelper tries eleven times).
 */
export const writableHome = `for HOME in "\${HOME:-/home/${AgentLayout.user}}" ${AgentLayout.root}/home; do
  if mkdir -p "$HOME/.config" "$HOME/.local/share" 2>/dev/null && [ -w "$HOME/.config" ]; then break; fi
done
export HOME`;

/** Nothing stays between init and the listener, so that the stop signal reaches it, and it alone. */
const start = `${writableHome}
cd ${AgentLayout.root} && exec bin/Agent.Listener run --once`;

/** Somebody else's Dockerfile has the last word in it: how it starts an agent, and as whom, is not known. */
export function isForeign(image: ImageConfig): boolean {
  return image.kind === 'registry' || image.top !== undefined;
}

/** How a container begins and is stopped, and as whom. What is built here alone says the rest in its image. */
export function agentStart(image: ImageConfig, uid: number): Docker.ContainerCreateOptions {
  // By number, whatever the image says: a job is root only where it may be.
  const User = `${uid}:${AgentLayout.gid}`;
  if (!isForeign(image)) return { User, StopSignal: stopSignal };
  return {
    Entrypoint: ['/bin/sh', '-c', start],
    Cmd: [],
    User,
    WorkingDir: AgentLayout.root,
    StopSignal: stopSignal,
  };
}

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

/** Where systems keep the authorities that they trust, as one file: Debian and Ubuntu, Fedora and its kin, SUSE. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/var/lib/ca-certificates/ca-bundle.pem',
];

/**
 * The host's own authorities and the site's, as PEM: programs that are given such a file trust nothing else. Undefined
 * where the site has none. Read at each call, because an update of the host changes its own. Throws when the site's
 * file cannot be read: with the host's alone everything would fail later, and say less.
 */
export async function trustedCertificates(
  { ca }: { readonly ca: boolean },
  siteFile: string,
  system: readonly string[] = systemBundles,
): Promise<string | undefined> {
  if (!ca) return undefined;
  const site = await readFile(siteFile, 'utf8');
  for (const file of system) {
    const own = await readFile(file, 'utf8').catch(() => '');
    if (own !== '') return joined(own, site);
  }
  return joined(site);
}

/** One after the other, each ended by a line break. Pure. */
function joined(...bundles: readonly string[]): string {
  return bundles.map((bundle) => `${bundle.trimEnd()}\n`).join('');
}
