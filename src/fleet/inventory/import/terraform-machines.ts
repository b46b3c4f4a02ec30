type Values = Readonly<Record<string, unknown>>;

/** A machine as the state of Terraform tells of it. */
export interface Machine {
  readonly name: string;
  readonly address: string;
  readonly user?: string;
}

/** Modules in modules. */
const deepest = 20;

/** The machines of a module and of those in it. Those without an address are not running, and are none. */
export function machinesOf(module: unknown, levels = deepest): readonly Machine[] {
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

export function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
