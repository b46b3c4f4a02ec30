import type Docker from 'dockerode';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import type { EngineInfo } from '../../shared/engine/engine.ts';

/** API 1.44 (Engine 25) and Linux 5.12 support recursive read-only mounts. */
const recursive = { api: [1, 44], kernel: [5, 12] } as const;

/**
 * Returns whether mounts below a read-only folder are read-only, too. The runtime must report the feature (moby's
 * supportsRecursivelyReadOnly): otherwise the engine refuses such a container. Pure.
 */
export function readsOnlyBelow({
  apiVersion,
  kernel,
  mountOptions,
}: { readonly apiVersion: string } & Pick<EngineInfo, 'kernel' | 'mountOptions'>): boolean {
  return (
    isAtLeast(apiVersion, recursive.api) &&
    isAtLeast(kernel, recursive.kernel) &&
    mountOptions?.includes('rro') === true
  );
}

function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [, first, second] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(first) > major || (Number(first) === major && Number(second) >= minor);
}

/**
 * Returns the mounts of a container. Mounts, not binds: for a missing folder the engine then reports an error instead of
 * creating an empty one. Without recursive read-only mounts, mounts below a dataset stay writable. Pure.
 */
export function agentMounts(
  { datasets, jobs }: Pick<ManagerConfig, 'datasets' | 'jobs'>,
  below: boolean,
): Docker.MountConfig {
  return [
    ...datasets.map(({ host, container }) => ({
      ...bind(host, container),
      ReadOnly: true,
      ...(below ? { BindOptions: recursively } : {}),
    })),
    ...(jobs.docker ? [bind(dockerSocket, dockerSocket)] : []),
  ];
}

const dockerSocket = '/var/run/docker.sock';

/** The engine refuses a mount that it cannot make recursively read-only. */
const recursively = { Propagation: 'rprivate', ReadOnlyForceRecursive: true } as const;

function bind(Source: string, Target: string): Docker.MountSettings {
  return { Type: 'bind', Source, Target };
}
