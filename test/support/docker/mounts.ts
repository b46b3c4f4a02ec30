import { existsSync } from 'node:fs';
import type { StandInContainer } from './state.ts';

interface Mount {
  readonly Type: string;
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly?: boolean;
  readonly BindOptions?: { readonly Propagation?: string; readonly ReadOnlyForceRecursive?: boolean };
}

/** What dockerd answers to mounts that it cannot make; of a bind's folder it makes one that is not there, of a mount's not. */
export function mountFault(hostConfig: StandInContainer['body']['HostConfig']): string | undefined {
  const targets = new Set<string>();
  for (const mount of (hostConfig?.['Mounts'] ?? []) as readonly Mount[]) {
    const { Type, Source, Target, ReadOnly = false, BindOptions = {} } = mount;
    const say = (what: string): string => `invalid mount config for type "${Type}": ${what}`;
    if (Type !== 'bind') return say('mount type unknown');
    for (const path of [Target, Source])
      if (!path.startsWith('/')) return say(`invalid mount path: '${path}' mount path must be absolute`);
    if (!existsSync(Source)) return say(`bind source path does not exist: ${Source}`);
    const { Propagation, ReadOnlyForceRecursive = false } = BindOptions;
    if (ReadOnlyForceRecursive && !ReadOnly) return 'mount is not read-only';
    if (ReadOnlyForceRecursive && Propagation !== 'rprivate')
      return 'ReadOnlyForceRecursive needs the propagation rprivate';
    if (targets.has(Target)) return `Duplicate mount point: ${Target}`;
    targets.add(Target);
  }
  return undefined;
}

/** Paths of the host that are mounted in a container, asked for either way. */
export function bindSources({ body: { HostConfig } }: StandInContainer): readonly string[] {
  const binds = (HostConfig?.['Binds'] ?? []) as readonly string[];
  const mounts = (HostConfig?.['Mounts'] ?? []) as readonly Mount[];
  return [...binds.map((bind) => bind.split(':')[0] ?? ''), ...mounts.map(({ Source }) => Source)];
}
