import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { ImageConfig, ManagerConfig } from '../../shared/contract/config.ts';
import { AgentLayout } from '../../shared/image/layout.ts';
import { readText } from '../machine/files.ts';

/**
 * Ends the agent and its session with the server, in versions 4 and 5. On SIGTERM version 5 exits at once, and its session
 * blocks its name for minutes (.NET 10 does not raise AssemblyLoadContext.Unloading).
 */
export const stopSignal = 'SIGINT';

/**
 * Shell text that sets HOME to a writable folder, in which the agent caches the server's addresses. Without it each
 * connection takes seconds longer (XmlUtility.OpenFileHelper retries eleven times).
 */
export const writableHome = `for HOME in "\${HOME:-/home/${AgentLayout.user}}" ${AgentLayout.root}/home; do
  if mkdir -p "$HOME/.config" "$HOME/.local/share" 2>/dev/null && [ -w "$HOME/.config" ]; then break; fi
done
export HOME`;

/** The listener is the direct child of init, so that only it gets the stop signal. */
const start = `${writableHome}
cd ${AgentLayout.root} && exec bin/Agent.Listener run --once`;

/** True for an image with a user's Dockerfile: its entry point and user are not known. */
export function isForeign(image: ImageConfig): boolean {
  return image.kind === 'registry' || image.top !== undefined;
}

/** Returns user, entry point and stop signal of a container. The image that azp-fleet builds sets the rest itself. */
export function agentStart(image: ImageConfig, uid: number): Docker.ContainerCreateOptions {
  // By number, whatever the image sets: a job is root only where it is allowed.
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

/** The agent translates its console output, which the manager parses (StringUtil.cs; LC_ALL overrides LANG). */
export const locale = { LANG: 'C.UTF-8', LC_ALL: 'C.UTF-8' } as const;

/**
 * Returns the variables for proxy and certificates that programs of jobs read; none is secret. `ca`: a file with all
 * trusted certificates. OpenSSL reads SSL_CERT_FILE; git, curl and Python's requests do not.
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

/** Returns `NAME=value` lines; `steering` variables do not become capabilities of the agent. */
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

/** Returns the path of the trusted certificates in an agent's root, where its user and jobs read them. */
export function bundleIn(root: string): string {
  return `${root}/${bundleName}`;
}

/**
 * Returns the files in an agent's root that configure its network: one proxy for everything, exceptions as regular
 * expressions, and the certificates for git (VstsAgentWebProxy, AgentCertificateManager, GitSourceProvider). `bundle`:
 * the certificates of system and site, because git uses them instead of its own.
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

/** Returns the certificate file alone: config.sh writes the other files. */
export function bundleFile(bundle: string | undefined): readonly SiteFile[] {
  return bundle === undefined ? [] : [{ name: bundleName, content: bundle }];
}

/** Files with the trusted authorities of a system: Debian and Ubuntu, Fedora and RHEL, SUSE. */
const systemBundles = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/var/lib/ca-certificates/ca-bundle.pem',
];

/**
 * Returns the authorities of host and site as PEM: programs with such a file trust nothing else. Undefined where the site
 * has none. Read at each call, because an update of the host changes its authorities. Throws when the site's file cannot be
 * read: with the host's authorities alone a later error would be less clear.
 */
export async function trustedCertificates(
  { ca }: { readonly ca: boolean },
  siteFile: string,
  system: readonly string[] = systemBundles,
): Promise<string | undefined> {
  if (!ca) return undefined;
  const site = await readText(siteFile);
  for (const file of system) {
    const own = await readFile(file, 'utf8').catch(() => '');
    if (own !== '') return joined(own, site);
  }
  return joined(site);
}

/** Joins bundles, each with a final newline. Pure. */
function joined(...bundles: readonly string[]): string {
  return bundles.map((bundle) => `${bundle.trimEnd()}\n`).join('');
}
