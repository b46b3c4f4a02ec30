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
  together,
  unusable,
} from './found-host.ts';

type Hosts = InventoryFile['hosts'];

/** All hosts of an inventory: those of `hostsFrom`, over them what `hosts` says of them, and its own. */
export function hostsFrom(
  { hosts, hostsFrom }: InventoryFile,
  folder: string,
): { readonly hosts: Hosts; readonly problems: readonly Problem[] } {
  if (hostsFrom === undefined) return { hosts, problems: [] };
  try {
    const found = terraformHosts(path.resolve(folder, hostsFrom.terraform), hostsFrom.terraform);
    const theirs = found.hosts.map(({ name, entry }) => {
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
    return { hosts: { ...Object.fromEntries(theirs), ...withoutThose(hosts, found) }, problems };
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return { hosts, problems: [error.problem] };
  }
}

/** Hosts of a file of Terraform's. Throws a usage error where there are none to be read. */
export function terraformHosts(file: string, shown: string): Found {
  const next = `create it: terraform output -json > ${shown}`;
  const found = fromTerraform(readSource(file, shown, next));
  if (!('why' in found)) return found;
  throw unusable(shown, found.why, next);
}

function withoutThose(hosts: Hosts, found: Found): Hosts {
  const names = new Set(found.hosts.map(({ name }) => name));
  return Object.fromEntries(Object.entries(hosts).filter(([name]) => !names.has(name)));
}

/** The output that our examples have: hosts by name, each with the inventory's own keys. */
const hostsOutput = 'azp_fleet_hosts';

/**
 * Hosts of what `terraform output -json` or `terraform show -json` prints (OpenTofu prints the same): those of the output
 * `azp_fleet_hosts`, else the machines of the clouds we know. A reason where it is neither. Pure.
 *
 * The forms are those of Terraform's documentation, "JSON Output Format": outputs by name with `value` and `sensitive`,
 * and in a state `values` with `outputs` and `root_module`.
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
  if (machines.length > 0) return together(machines.map(({ name, ...rest }) => foundHost(name, rest, [])));
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
  return together(entries.map(([name, host]) => fromEntry(name, host)));
}

/** What Terraform has not made is null there. */
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

/** A machine as the state of Terraform tells of it. */
interface Machine {
  readonly name: string;
  readonly address: string;
  readonly user?: string;
}

/** Modules in modules. */
const deepest = 20;

/** The machines of a module and of those in it. Those without an address are not running, and are none. */
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

interface Seen {
  readonly name?: string | undefined;
  readonly address?: string | undefined;
  readonly user?: string;
}

/** By resource; the names of the attributes are those of the providers' documentation. The public address first. */
const kinds: Readonly<Record<string, (values: Values) => Seen>> = {
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
