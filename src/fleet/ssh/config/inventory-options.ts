import { defined } from '../../../shared/base/objects.ts';
import type { SshSpec } from '../../inventory/fleet.ts';

/** Returns the settings of a host without inventory settings, except for its ssh_config. */
export function plainSpec(sshConfig: string | undefined): SshSpec {
  return {
    ...defined({ sshConfig }),
    transport: 'builtin',
    hostKeys: [],
    hostKeyPolicy: 'accept-new',
  };
}

/** Returns the inventory's values as arguments of ssh, which override its files. */
export function inventoryArguments(spec: SshSpec): readonly string[] {
  const flag = (name: string, value: string | number | undefined): string[] =>
    value === undefined ? [] : [name, String(value)];
  return [
    ...flag('-F', spec.sshConfig),
    ...flag('-p', spec.port),
    ...flag('-l', spec.user),
    ...flag('-i', spec.identityFile),
    // Not -J, which ssh rejects together with ProxyCommand: commands over an open connection set one.
    ...(spec.jump === undefined ? [] : ['-o', `ProxyJump=${spec.jump}`]),
  ];
}

/** Returns the options that the inventory sets, by their names in `ssh -G`. */
export function inventoryOptions(spec: SshSpec): ReadonlySet<string> {
  const set: Readonly<Record<string, unknown>> = {
    port: spec.port,
    user: spec.user,
    identityfile: spec.identityFile,
    proxyjump: spec.jump,
    stricthostkeychecking: spec.hostKeys.length > 0 || spec.hostKeyPolicy === 'strict' || undefined,
  };
  return new Set(Object.keys(set).filter((option) => set[option] !== undefined));
}
