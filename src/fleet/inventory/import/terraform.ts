import { foreignJson, excerpt } from '../../../shared/base/foreign-text.ts';
import { foundHost, mostHosts, together, type Found, type LeftOut } from './found-host.ts';
import { isObject, machinesOf } from './terraform-machines.ts';

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
    return { why: 'it is the state file itself, which holds secrets' };
  const values = isObject(document['values']) ? document['values'] : undefined;
  const outputs = 'format_version' in document ? values?.['outputs'] : document;
  const output = isObject(outputs) ? outputs[hostsOutput] : undefined;
  if (isObject(output)) return fromOutput(output);
  const machines = machinesOf(values?.['root_module']);
  if (machines.length > 0) return together(machines.map(({ name, ...rest }) => foundHost(name, rest, [])));
  return { why: `it has no output ${hostsOutput}, and no machine that is known here` };
}

function fromOutput({
  value,
  sensitive,
}: Readonly<Record<string, unknown>>): Found | { readonly why: string } {
  if (sensitive === true) return { why: `the output ${hostsOutput} is marked sensitive` };
  if (!isObject(value)) return { why: `the output ${hostsOutput} is no map of hosts by name` };
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
