import type Docker from 'dockerode';
import type { ManagerConfig } from '../../shared/contract/config.ts';
import type { EngineInfo } from '../../shared/engine/engine.ts';

/** API 1.44 (Engine 25) and Linux 5.12 make a mount and all mounts below it read-only. */
const recursive = { api: [1, 44], kernel: [5, 12] } as const;

/**
 * Whether what is mounted below a folder is read-only with it. The runtime must say that it can (moby's
 * supportsRecursivelyReadOnly): of another the engine refuses a container that asks for it. Pure.
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
 * What of the host a container sees. As mounts, not as binds: of a folder that is not there the engine then says so, in
 * place of making an empty one. Where it cannot make what lies below a dataset read-only, too, that stays as it is. Pure.
 */
export function agentMounts(
  { datasets, jobs }: Pick<ManagerConfig, 'datasets' | 'jobs'>,
  below: boolean,
): Docker.MountConfig {
  return [
    ...datasets.map(({ host, container }) => ({
      ...bind(host, container),
      ReadOnly: true,
      ...(below ? { BindOptions: deeply } : {}),
    })),
    ...(jobs.docker ? [bind(dockerSocket, dockerSocket)] : []),
  ];
}

const dockerSocket = '/var/run/docker.sock';

/** The engine refuses what it cannot make read-only to the ground. */
const deeply = { Propagation: 'rprivate', ReadOnlyForceRecursive: true } as const;

function bind(Source: string, Target: string): Docker.MountSettings {
  return { Type: 'bind', Source, Target };
}
