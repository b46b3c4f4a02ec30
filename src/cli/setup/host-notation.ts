import { isIP } from 'node:net';

import { name as inventoryName } from '../../fleet/inventory/schema/values.ts';
import { FleetError, usageError } from '../../shared/base/errors.ts';
import { isHostName, isUserName } from '../../shared/base/jump-chain.ts';
import type { HostChoice } from './wizard-context.ts';

const notation =
  /^(?:(?<name>[^=@:\s]+)=)?(?:(?<user>[^=@:\s]+)@)?(?:\[(?<v6>[0-9a-fA-F:]+)\]|(?<address>[^=@:\s]+))(?::(?<port>\d+))?$/;

/**
 * Parses `[name=][user@]address[:port]`, with IPv6 addresses in brackets. `known` returns whether ssh_config has an
 * entry of that name, which is sufficient. Throws a usage error.
 */
export function parseHost(text: string, known: (name: string) => boolean): HostChoice {
  const parts = notation.exec(text.trim())?.groups;
  const port = parts?.['port'] === undefined ? undefined : Number(parts['port']);
  const written = parts?.['v6'] ?? parts?.['address'];
  if (written === undefined || port === 0 || (port ?? 0) > 65_535)
    throw usageError({
      code: 'usage.host',
      what: 'invalid host',
      expected: 'address, user@address:port or name=user@address:port',
      seen: text,
      next: useExpected,
    });
  const name = parts?.['name'] ?? (known(written) ? written : shortName(written));
  const bad = unusable(name, written, parts?.['user']);
  if (bad !== undefined)
    throw usageError({
      code: 'usage.host',
      what: 'invalid host',
      seen: text,
      next: useExpected,
      ...bad,
    });
  return {
    name,
    ...(name === written ? {} : { address: written }),
    ...(parts?.['user'] === undefined ? {} : { user: parts['user'] }),
    ...(port === undefined ? {} : { port }),
  };
}

const useExpected = 'replace it with an expected value';

/** Returns what is expected if the inventory or ssh would reject the host. */
function unusable(
  name: string,
  address: string,
  user: string | undefined,
): { readonly expected: string } | undefined {
  if (!isHostName(address)) return { expected: 'an address without spaces and shell characters' };
  if (user !== undefined && !isUserName(user)) return { expected: 'a user name that ssh accepts' };
  if (inventoryName.safeParse(name).success) return undefined;
  return { expected: `${nameExpected}, as in name=address` };
}

const nameExpected = 'a name of letters, digits, ".", "_" and "-"';

/** Returns the mistake in a host's name, or undefined. */
export function nameMistake(name: string): string | undefined {
  return inventoryName.safeParse(name).success ? undefined : `write ${nameExpected}, at most 63 characters`;
}

/** Returns the mistake in a host as typed, or undefined. */
export function hostMistake(text: string, known: (name: string) => boolean): string | undefined {
  try {
    parseHost(text, known);
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return `${text}: write ${error.problem.expected ?? ''}`;
  }
}

/** Returns whether the host's name is only derived from its address. */
export function isNamedByAddress({ name, address = name }: HostChoice): boolean {
  return isIP(name) !== 0 || (isIP(address) !== 0 && name === shortName(address));
}

/** Returns the first name that two hosts share, or undefined. */
export function sameName(hosts: readonly HostChoice[]): string | undefined {
  const named = distinctNames(hosts);
  return named.find(({ name }, at) =>
    named.slice(0, at).some((other) => other.name.toLowerCase() === name.toLowerCase()),
  )?.name;
}

/** Returns the first part of a DNS name; addresses stay whole, with colons replaced. */
function shortName(address: string): string {
  if (isIP(address) === 6) return `ip-${address.replaceAll(/:+/g, '-')}`.replace(/-$/, '');
  return isIP(address) === 4 ? address : (address.split('.')[0] ?? address);
}

/** Replaces equal names by the whole addresses. */
export function distinctNames(hosts: readonly HostChoice[]): HostChoice[] {
  return hosts.map((host) => {
    const { address } = host;
    const clash = hosts.filter((other) => other.name === host.name).length > 1;
    if (!clash || address === undefined) return host;
    const { address: _, ...rest } = host;
    return { ...rest, name: address };
  });
}
