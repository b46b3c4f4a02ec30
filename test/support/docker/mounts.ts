import { existsSync } from 'node:fs';
import type { StandInContainer } from './state.ts';

interface Mount {
  readonly Type: string;
  readonly Source: string;
  readonly Target: string;
  readonly ReadOnly?: boolean;
  readonly BindOptions?: { readonly Propagation?: string; readonly ReadOnlyForceRecursive?: boolean };
}

/** `docker info` of a runtime that can make mounts recursively read-only. */
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

/** dockerd's answer when it cannot create a container. */
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

/** Returns the error of its mounts. dockerd creates the missing folder of a bind, but not of a mount. */
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

/** Returns the host paths that are mounted in a container, as binds or as mounts. */
export function bindSources({ body: { HostConfig } }: StandInContainer): readonly string[] {
  const binds = (HostConfig?.['Binds'] ?? []) as readonly string[];
  const mounts = (HostConfig?.['Mounts'] ?? []) as readonly Mount[];
  return [...binds.map((bind) => bind.split(':')[0] ?? ''), ...mounts.map(({ Source }) => Source)];
}
