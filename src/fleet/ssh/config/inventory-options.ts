import { defined } from '../../../shared/base/objects.ts';
import type { SshSpec } from '../../inventory/fleet.ts';

/** A host of which the inventory says nothing but, maybe, where ssh's configuration is. */
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
    // Not -J, which ssh does not take beside a ProxyCommand: commands over a standing connection have one.
    ...(spec.jump === undefined ? [] : ['-o', `ProxyJump=${spec.jump}`]),
  ];
}

/** The options that they set, as `ssh -G` calls them. */
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
