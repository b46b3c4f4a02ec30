import path from 'node:path';

import { FleetError, type Problem } from '../../../shared/base/errors.ts';
import { excerpt, foreignJson } from '../../../shared/base/foreign-text.ts';
import type { InventoryFile } from '../schema/file.ts';
import {
  type Found,
  foundHost,
  type LeftOut,
  mostHosts,
  readSource,
  combine,
  unusable,
} from './found-host.ts';

type Hosts = InventoryFile['hosts'];

/** Returns the hosts of `hostsFrom` and of `hosts`; settings in `hosts` override those of `hostsFrom`. */
export function hostsFrom(
  { hosts, hostsFrom }: InventoryFile,
  folder: string,
): { readonly hosts: Hosts; readonly problems: readonly Problem[] } {
  if (hostsFrom === undefined) return { hosts, problems: [] };
  try {
    const found = terraformHosts(path.resolve(folder, hostsFrom.terraform), hostsFrom.terraform);
    const imported = found.hosts.map(({ name, entry }) => {
      const own = hosts[name] ?? {};
      return [name, { ...entry, ...own, labels: { ...entry.labels, ...own.labels } }] as const;
    });
    const problems = found.leftOut.map(({ what, why }): Problem => ({
      code: 'inventory.import',
      step: 'inventory',
      what: `${what} in ${hostsFrom.terraform} is invalid`,
      seen: why,
      next: 'correct the output azp_fleet_hosts and write the file again',
    }));
    return { hosts: { ...Object.fromEntries(imported), ...without(hosts, found) }, problems };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { hosts, problems: [error.problem] };
  }
}

/** Reads the hosts of a Terraform output file. Throws a usage error if it has none. */
export function terraformHosts(file: string, shown: string): Found {
  const next = `create it: terraform output -json > ${shown}`;
  const found = fromTerraform(readSource(file, shown, next));
  if (!('why' in found)) return found;
  throw unusable(shown, found.why, next);
}

function without(hosts: Hosts, found: Found): Hosts {
  const names = new Set(found.hosts.map(({ name }) => name));
  return Object.fromEntries(Object.entries(hosts).filter(([name]) => !names.has(name)));
}

/** The output of our examples: hosts by name, each with keys of the inventory. */
const hostsOutput = 'azp_fleet_hosts';

/**
 * Returns the hosts in the output of `terraform output -json` or `terraform show -json` (or OpenTofu): those of the
 * output `azp_fleet_hosts`, else the machines of supported clouds. Returns a reason if there are neither. Pure.
 *
 * Format: Terraform's documentation, "JSON Output Format": outputs by name with `value` and `sensitive`; in a state,
 * `values` with `outputs` and `root_module`.
 */
export function fromTerraform(text: string): Found | { readonly why: string } {
  const document = foreignJson(text);
  if (!isObject(document)) return { why: 'it is not JSON' };
  if (typeof document['version'] === 'number' && 'lineage' in document)
    return { why: 'it is the state file, which contains secrets' };
  const values = isObject(document['values']) ? document['values'] : undefined;
  const outputs = 'format_version' in document ? values?.['outputs'] : document;
  const output = isObject(outputs) ? outputs[hostsOutput] : undefined;
  if (isObject(output)) return fromOutput(output);
  const machines = machinesOf(values?.['root_module']);
  if (machines.length > 0) return combine(machines.map(({ name, ...rest }) => foundHost(name, rest, [])));
  return { why: `it has neither the output ${hostsOutput} nor a supported machine` };
}

function fromOutput({
  value,
  sensitive,
}: Readonly<Record<string, unknown>>): Found | { readonly why: string } {
  if (sensitive === true) return { why: `the output ${hostsOutput} is marked sensitive` };
  if (!isObject(value)) return { why: `the output ${hostsOutput} is not a map of hosts by name` };
  const entries = Object.entries(value);
  if (entries.length > mostHosts) return { why: `it has more than ${mostHosts} hosts` };
  return combine(entries.map(([name, host]) => fromEntry(name, host)));
}

/** Returns a host of the output; values that Terraform has not created yet are null. */
function fromEntry(name: string, host: unknown): Found {
  if (isObject(host)) {
    const given = Object.entries(host).filter(([, value]) => value !== null);
    if (Object.hasOwn(Object.fromEntries(given), 'address'))
      return foundHost(name, Object.fromEntries(given), []);
  }
  const leftOut: LeftOut = { what: `host ${excerpt(name)}`, why: 'it has no address' };
  return { hosts: [], leftOut: [leftOut] };
}

type Values = Readonly<Record<string, unknown>>;

/** A machine in the state of Terraform. */
interface Machine {
  readonly name: string;
  readonly address: string;
  readonly user?: string;
}

/** Maximum depth of nested modules. */
const deepest = 20;

/**
 * Returns the machines of a module and its child modules. A machine without an address is not running, and is omitted.
 */
function machinesOf(module: unknown, levels = deepest): readonly Machine[] {
  if (!isObject(module) || levels === 0) return [];
  const { resources, child_modules: inner } = module;
  const own = list(resources).flatMap((resource): Machine[] => {
    if (!isObject(resource) || resource['mode'] !== 'managed' || !isObject(resource['values'])) return [];
    const read = kinds[String(resource['type'])];
    const machine = read?.(resource['values']);
    return machine?.address === undefined
      ? []
      : [{ ...machine, name: machine.name ?? '', address: machine.address }];
  });
  return [...own, ...list(inner).flatMap((child) => machinesOf(child, levels - 1))];
}

interface Attributes {
  readonly name?: string | undefined;
  readonly address?: string | undefined;
  readonly user?: string;
}

/** By resource type; attribute names as in the providers' documentation. Prefers the public address. */
const kinds: Readonly<Record<string, (values: Values) => Attributes>> = {
  google_compute_instance: (values) => {
    const nic = list(values['network_interface'])[0];
    const [access] = isObject(nic) ? list(nic['access_config']) : [];
    const outer = isObject(access) ? text(access['nat_ip']) : undefined;
    return {
      name: text(values['name']),
      address: outer ?? (isObject(nic) ? text(nic['network_ip']) : undefined),
    };
  },
  aws_instance: (values) => {
    const tags = isObject(values['tags']) ? values['tags'] : {};
    return {
      name: text(tags['Name']) ?? text(values['id']),
      address: text(values['public_ip']) ?? text(values['private_ip']),
    };
  },
  azurerm_linux_virtual_machine: (values) => {
    const user = text(values['admin_username']);
    return {
      name: text(values['name']),
      address: text(values['public_ip_address']) ?? text(values['private_ip_address']),
      ...(user === undefined ? {} : { user }),
    };
  },
};

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
