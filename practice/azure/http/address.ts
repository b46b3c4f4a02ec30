import type { IncomingMessage } from 'node:http';

/** The paths that the server answers, and the address that it reports. */
interface Place {
  /** Path of the organisation without slashes at its ends: `lab`, or `azdo/Engineering` below a virtual folder. */
  readonly organization: string;
  /** The organisation's public URL; undefined: the name that the caller used. */
  readonly publicUrl?: string | undefined;
}

/** Returns the path below the organisation, in any case; undefined for other paths. */
export function belowOrganization({ organization }: Place, pathname: string): string | undefined {
  const desired = organization.split('/');
  const [, ...parts] = pathname.split('/');
  const rest = parts.slice(desired.length);
  const matches = desired.every((name, index) => sameName(parts[index], name));
  return matches ? rest.map((part) => `/${part}`).join('') : undefined;
}

function sameName(part: string | undefined, name: string): boolean {
  if (part === undefined) return false;
  try {
    return decodeURIComponent(part).toLowerCase() === name.toLowerCase();
  } catch {
    return false;
  }
}

/** Returns the host that a caller names, else the address of the connection; undefined: an invalid name. */
export function askedHost({ headers: { host }, socket }: IncomingMessage): string | undefined {
  if (host === undefined || host === '') {
    const { localAddress = '', localPort, localFamily } = socket;
    return `${localFamily === 'IPv6' ? `[${localAddress}]` : localAddress}:${localPort}`;
  }
  return /[\s/?#@\\]/u.test(host) || !URL.canParse(`http://${host}`) ? undefined : host;
}

/** Parses the path of a call; undefined: no valid path, or invalid percent codes. */
export function askedUrl(target: string): URL | undefined {
  if (!URL.canParse(target, 'http://fake')) return undefined;
  const url = new URL(target, 'http://fake');
  try {
    decodeURIComponent(url.pathname);
    return url;
  } catch {
    return undefined;
  }
}

/**
 * Returns the beginning of every address in an answer, without a trailing slash. An Azure DevOps Server reports the public URL
 * that its administrator set, whatever name a caller used.
 */
export function ownUrl({ organization, publicUrl }: Place, host: string): string {
  return publicUrl ?? `http://${host}/${encodeURI(organization)}`;
}
