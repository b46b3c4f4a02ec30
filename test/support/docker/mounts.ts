import { existsSync } from 'node:fs';
import type { StandInContainer } from './state.ts';

interface Mount {
  readonly Type: string;
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly?: boolean;
  readonly BindOptions?: { readonly Propagation?: string; readonly ReadOnlyForceRecursive?: boolean };
}

/** What `docker info` says of the runtime: mounts can be made read-only at every level. */
export const runtimes = {
  DefaultRuntime: 'runc',
  Runtimes: {
    runc: {
      path: 'runc',
      status: { 'org.opencontainers.runtime-spec.features': '{"mountOptions":["ro","rro"]}' },
    },
  },
};

type HostConfig = StandInContainer['body']['HostConfig'];

/** What dockerd answers to a container that it cannot make. */
export function createFault(
  hostConfig: HostConfig,
  storesSizes: boolean,
): { readonly status: number; readonly message: string } | undefined {
  const mounts = mountFault(hostConfig);
  if (mounts !== undefined) return { status: 400, message: mounts };
  if (hostConfig?.['StorageOpt'] === undefined || storesSizes) return undefined;
  const message = "--storage-opt is supported only for overlay over xfs with 'pquota' mount option";
  return { status: 500, message };
}

/** What is wrong with its mounts. Of a bind's folder it makes one that is not there, of a mount's not. */
function mountFault(hostConfig: HostConfig): string | undefined {
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
