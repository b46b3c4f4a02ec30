import type { IncomingMessage } from 'node:http';

/** What the server answers for, and what it calls itself. */
interface Place {
  /** Path of the organisation without slashes at its ends: `lab`, or `azdo/Engineering` below a virtual folder. */
  readonly organization: string;
  /** The organisation's public URL; undefined: the name that the caller used. */
  readonly publicUrl?: string | undefined;
}

/** The path below the organisation, whose case does not matter; undefined when the call is for something else. */
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

/** The host that a caller names, else the address that it came to; undefined: what it names is none. */
export function askedHost({ headers: { host }, socket }: IncomingMessage): string | undefined {
  if (host === undefined || host === '') {
    const { localAddress = '', localPort, localFamily } = socket;
    return `${localFamily === 'IPv6' ? `[${localAddress}]` : localAddress}:${localPort}`;
  }
  return /[\s/?#@\\]/u.test(host) || !URL.canParse(`http://${host}`) ? undefined : host;
}

/** What a caller asks for; undefined: it is no address, or its percent codes are none. */
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
 * What every address in an answer begins with, without a slash at its end. A server of one's own says the public URL
 * that its administrator gave it, whatever name a caller reached it by.
 */
export function ownUrl({ organization, publicUrl }: Place, host: string): string {
  return publicUrl ?? `http://${host}/${encodeURI(organization)}`;
}
