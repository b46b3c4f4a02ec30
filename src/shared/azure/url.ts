import { usageError } from '../base/errors.ts';

/**
 * Parses the organization or collection URL and returns it without a trailing slash.
 * Services: `https://dev.azure.com/ORG`, `https://ORG.visualstudio.com`. Server: `https://HOST[/FOLDER]/COLLECTION`.
 * Throws a usage error that shows the right form when a project or a page of the web interface is pasted.
 */
export function organizationUrl(text: string): string {
  const url = parse(text);
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  if (url.password !== '') throw secretInUrl(url);
  if (otherServices.test(url.hostname)) throw notAzureDevOps(url.hostname);
  const origin = `${url.protocol}//${url.host}`;
  if (url.hostname === 'dev.azure.com') {
    refusePlaceholder(segments[0]);
    return exactly(text, `https://${url.host}`, segments, 1, 'https://dev.azure.com/ORGANIZATION');
  }
  if (url.hostname.endsWith('.visualstudio.com')) {
    const rest = segments[0]?.toLowerCase() === 'defaultcollection' ? segments.slice(1) : segments;
    return exactly(text, `https://${url.host}`, rest, 0, 'https://ORGANIZATION.visualstudio.com');
  }
  return exactly(text, origin, segments, serverDepth(segments), 'https://SERVER/[FOLDER/]COLLECTION');
}

/**
 * Matches sites that are pasted instead of an organization, among them pages of Azure DevOps outside of organizations.
 * Virtual machines of Azure (cloudapp.azure.com) may run an Azure DevOps Server.
 */
const otherServices =
  /(^|\.)(github|gitlab|microsoftonline)\.com$|(^|\.)bitbucket\.org$|^portal\.azure\.com$|^(azure|www|learn)\.microsoft\.com$|\.dev\.azure\.com$|\..+\.visualstudio\.com$|^www\.visualstudio\.com$/;

function notAzureDevOps(host: string): Error {
  return usageError({
    code: 'azure.url',
    what: `${host} is not Azure DevOps`,
    expected: 'https://dev.azure.com/ORGANIZATION, or the URL of a collection of Azure DevOps Server',
    next: 'open https://dev.azure.com, choose your organization, and copy the address: https://dev.azure.com/ORGANIZATION',
  });
}

/** Matches names that documentation uses instead of an organization's name; capitals only where a name may be real. */
const placeholders = [/^<.*>$/, /^your[-_]?org(anization)?$/i, /^(ORG|ORGANIZATION|NAME)$/];

function refusePlaceholder(segment = ''): void {
  const name = segment.replace(/^%3c(.*)%3e$/i, '<$1>');
  if (!placeholders.some((form) => form.test(name))) return;
  throw usageError({
    code: 'azure.url',
    what: `"${name}" is a placeholder, not an organization`,
    next: 'replace it with the name of your organization, as in the address of its page',
  });
}

/**
 * An Azure DevOps Server may have a virtual folder (usually `tfs`) before its collection. A project after a collection
 * without a folder looks the same; the server then reports that the collection does not exist.
 */
function serverDepth(segments: readonly string[]): number {
  const pages = segments.findIndex((segment) => segment.startsWith('_'));
  const [first = '', ...others] = pages === -1 ? segments : segments.slice(0, pages);
  if (first.toLowerCase() === 'tfs') return 2;
  return /collection$/i.test(first) || others.length === 0 ? 1 : 2;
}

function exactly(
  text: string,
  origin: string,
  segments: readonly string[],
  depth: number,
  form: string,
): string {
  const expected = [origin, ...segments.slice(0, depth)].join('/');
  if (segments.length === depth) return expected;
  if (segments.length < depth) {
    const missing = form.includes('COLLECTION') ? 'collection' : 'organization';
    throw usageError({
      code: 'azure.url',
      what: `the organization URL ${text} names no ${missing}`,
      expected: form,
      seen: text,
      next: `write the URL as ${form}`,
    });
  }
  throw usageError({
    code: 'azure.url',
    what: `the organization URL ${text} contains more than the organization`,
    expected: form,
    seen: `also /${segments.slice(depth).join('/')}`,
    next: `write ${expected}, and name projects under "projects:"`,
  });
}

function parse(text: string): URL {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
  if (url?.protocol === 'https:' || url?.protocol === 'http:') return url;
  throw usageError({
    code: 'azure.url',
    what: `"${text}" is not the URL of an Azure DevOps organization`,
    expected:
      'https://dev.azure.com/ORGANIZATION, or https://SERVER/[FOLDER/]COLLECTION for Azure DevOps Server',
    seen: text,
    next: 'copy the address that the browser shows on the page of the organization',
  });
}

function secretInUrl(url: URL): Error {
  return usageError({
    code: 'azure.url',
    what: 'the organization URL contains a password or token',
    expected: 'a URL without user and password; the token by reference under "token:"',
    seen: `${url.protocol}//***@${url.host}${url.pathname}`,
    next: 'remove it from the URL, and revoke it if the file was shared',
  });
}

/** Microsoft's own service, which has several host names; every other host is an Azure DevOps Server. */
export function isHostedService(organization: string): boolean {
  const { hostname } = new URL(organization);
  return hostname === 'dev.azure.com' || hostname.endsWith('.visualstudio.com');
}

/** Returns `url` with scheme, host and port of `like`: a server may report an address that only it can reach. */
export function atServerOf(url: string, like: string): string {
  const moved = new URL(url);
  const { protocol, hostname, port } = new URL(like);
  moved.protocol = protocol;
  moved.hostname = hostname;
  moved.port = port;
  return moved.href;
}
