import { usageError, type FleetError } from '../../shared/base/errors.ts';
import { completed, nearest } from '../../shared/base/nearest.ts';
import type { Fleet, HostSpec } from './fleet.ts';
import { glob } from './glob.ts';

/** Terms between commas; commas in brackets belong to a range: `gpu-[000-099,101]`. */
const termPattern = /(?:\[[^\]]*\]|[^,])+/g;

/** Selects every host. */
export const everyHost = 'all';

/**
 * Returns the hosts that `names` and `limits` both select, in the inventory's order. A pattern is a comma-separated
 * list of host names, groups, labels (`room=b12`), globs (`h200-*`, `gpu-[000-299]`, over hosts, groups and label
 * values), `all`, and exclusions (`!x`); several patterns are joined. No pattern, or only exclusions, starts from all
 * hosts. A term that matches nothing is a usage error, and so is a selection without a host.
 */
export function selectHosts(
  { hosts }: Pick<Fleet, 'hosts'>,
  names: readonly string[],
  limits: readonly string[] = [],
): readonly HostSpec[] {
  const named = selection(hosts, names, '');
  const within = new Set(selection(hosts, limits, '--limit '));
  const selected = named.filter((host) => within.has(host));
  if (selected.length === 0 && hosts.length > 0)
    throw noneSelected(`${names.join(',')} and --limit ${limits.join(',')} have no host in common`);
  return selected;
}

/** Hosts on a command line, and the slots or agents that it names of them. */
export interface Targets {
  /** Patterns of hosts, for `selectHosts`. */
  readonly hosts: readonly string[];
  /** Returns the names of slots or agents of a host; none: the whole host. */
  readonly namesOn: (host: HostSpec) => readonly string[];
  /** True if slots or agents are named of any host. */
  readonly hasNames: boolean;
}

/**
 * Reads targets: patterns of hosts, each also as HOST/SLOT or HOST/AGENT. A label's value may contain a slash, so a label names
 * whole hosts. Throws for a target without its host or its slot. Pure.
 */
export function readTargets(given: readonly string[]): Targets {
  const targets = termsOf(given).map((term) => {
    const slash = term.includes('=') ? -1 : term.indexOf('/');
    if (slash < 0) return { host: term, name: undefined };
    const [host, name] = [term.slice(0, slash), term.slice(slash + 1)];
    if (host === '' || name === '' || host.startsWith('!')) throw noTarget(term);
    return { host, name };
  });
  return {
    // A pattern without a term stays: it selects nothing, and not every host.
    hosts: targets.length === 0 ? given : targets.map(({ host }) => host),
    hasNames: targets.some(({ name }) => name !== undefined),
    namesOn: (host) => {
      const here = targets.filter((target) => !target.host.startsWith('!') && selects(target.host, host));
      const names = here.flatMap(({ name }) => name ?? []);
      return names.length < here.length ? [] : [...new Set(names)];
    },
  };
}

function noTarget(term: string): FleetError {
  return usageError({
    code: 'usage.target',
    what: `${term} is not a target`,
    expected: 'HOST, HOST/SLOT or HOST/AGENT, e.g. h200-1/0',
    next: 'list hosts and slots: azp-fleet status',
  });
}

/** `label`: names the patterns in the error if they select no host. */
function selection(
  hosts: readonly HostSpec[],
  patterns: readonly string[],
  label: string,
): readonly HostSpec[] {
  const given = termsOf(patterns);
  if (patterns.length > 0 && given.length === 0) throw noneSelected(`${label}"" selects no host`);
  const included = given.filter((term) => !term.startsWith('!'));
  const excluded = given.filter((term) => term.startsWith('!')).map((term) => term.slice(1));
  const named = new Set(included.length === 0 ? hosts : included.flatMap((term) => match(term, hosts)));
  const without = new Set(excluded.flatMap((term) => match(term, hosts)));
  const selected = hosts.filter((host) => named.has(host) && !without.has(host));
  if (selected.length === 0 && hosts.length > 0)
    throw noneSelected(`${label}${given.join(',')} selects no host`);
  return selected;
}

function termsOf(patterns: readonly string[]): readonly string[] {
  const terms = patterns.flatMap((pattern) => pattern.match(termPattern) ?? []).map((term) => term.trim());
  return terms.filter((term) => term !== '');
}

function noneSelected(what: string): FleetError {
  return usageError({
    code: 'inventory.nothing-selected',
    what,
    next: 'list the hosts, groups and labels: azp-fleet inventory list',
  });
}

function match(term: string, hosts: readonly HostSpec[]): readonly HostSpec[] {
  const found = hosts.filter((host) => selects(term, host));
  if (found.length > 0 || term === everyHost) return found;
  const [name = '', slot] = term.split('/');
  if (slot !== undefined && hosts.some((host) => selects(name, host))) throw wholeHosts(term, name);
  const names = namesOf(hosts);
  const near = nearest(term, names) ?? completed(term, names);
  throw usageError({
    code: 'inventory.nothing-selected',
    what: `no host, group or label matches ${term}`,
    next:
      near === undefined
        ? 'list the hosts, groups and labels: azp-fleet inventory list'
        : `did you mean "${near}"? azp-fleet inventory list shows them all`,
  });
}

function wholeHosts(term: string, host: string): FleetError {
  return usageError({
    code: 'usage.target',
    what: `${term} names a slot, and this takes whole hosts`,
    next: `write ${host}; drain, undrain, adopt, logs and status take HOST/SLOT`,
  });
}

function selects(term: string, host: HostSpec): boolean {
  return term === everyHost || matcher(term)(host);
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
