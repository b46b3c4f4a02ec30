import { usageError } from '../base/errors.ts';
import { nearest } from '../base/nearest.ts';
import type { Fleet, HostSpec } from './fleet.ts';
import { glob } from './glob.ts';

/** Those in brackets belong to a range: `gpu-[000-099,101]`. */
const betweenCommas = /(?:\[[^\]]*\]|[^,])+/g;

/**
 * The hosts that patterns name, in the inventory's order. A pattern is a comma-separated list of host names, groups,
 * labels (`room=b12`), globs (`h200-*`, `gpu-[000-299]`, over hosts, groups and label values) and exclusions (`!x`).
 * No pattern, or only exclusions, starts from all hosts. A term that matches nothing is a usage error.
 */
export function selectHosts(fleet: Pick<Fleet, 'hosts'>, patterns: readonly string[]): readonly HostSpec[] {
  const terms = patterns.flatMap((pattern) => pattern.match(betweenCommas) ?? []).map((term) => term.trim());
  const given = terms.filter((term) => term !== '');
  const wanted = given.filter((term) => !term.startsWith('!'));
  const unwanted = given.filter((term) => term.startsWith('!')).map((term) => term.slice(1));
  const included = new Set(
    wanted.length === 0 ? fleet.hosts : wanted.flatMap((term) => match(term, fleet.hosts)),
  );
  const excluded = new Set(unwanted.flatMap((term) => match(term, fleet.hosts)));
  const selected = fleet.hosts.filter((host) => included.has(host) && !excluded.has(host));
  if (selected.length === 0 && fleet.hosts.length > 0)
    throw usageError({
      code: 'inventory.nothing-selected',
      what: `${given.join(',')} leaves no host`,
      next: 'see the hosts, groups and labels: azp-fleet inventory list',
    });
  return selected;
}

function match(term: string, hosts: readonly HostSpec[]): readonly HostSpec[] {
  const found = hosts.filter(matcher(term));
  if (found.length > 0) return found;
  const near = nearest(term, namesOf(hosts));
  throw usageError({
    code: 'inventory.nothing-selected',
    what: `no host, group or label matches ${term}`,
    next:
      near === undefined
        ? 'see the hosts, groups and labels: azp-fleet inventory list'
        : `did you mean "${near}"? azp-fleet inventory list shows them all`,
  });
}

function matcher(term: string): (host: HostSpec) => boolean {
  const equals = term.indexOf('=');
  if (equals > 0) {
    const value = glob(term.slice(equals + 1));
    const key = term.slice(0, equals);
    return (host) => Object.hasOwn(host.labels, key) && value(host.labels[key] ?? '');
  }
  const pattern = glob(term);
  return (host) => pattern(host.name) || host.groups.some(pattern);
}

function namesOf(hosts: readonly HostSpec[]): Set<string> {
  return new Set(
    hosts.flatMap((host) => [
      host.name,
      ...host.groups,
      ...Object.entries(host.labels).map(([key, value]) => `${key}=${value}`),
    ]),
  );
}
