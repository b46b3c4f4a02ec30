import type Docker from 'dockerode';

export type DeviceRequest = NonNullable<
  NonNullable<Docker.ContainerCreateOptions['HostConfig']>['DeviceRequests']
>[number];

export interface GpuPath {
  readonly kind: 'cdi' | 'nvidia';
  /** The reason, for the debug log and `status --json`. */
  readonly why: string;
}

/**
 * Returns how a Docker Engine gives GPUs to containers. CDI is preferred where the engine has it enabled and a
 * specification exists: such containers keep their GPUs over a `systemctl daemon-reload`.
 * From 25.0 CDI is behind `features.cdi`, from 28.2 it is on by default; `cdiSpecDirs` of the engine's info is empty while it is off.
 */
export function gpuPath(
  engine: { readonly version: string; readonly cdiSpecDirs: readonly string[] },
  cdiSpec: boolean,
): GpuPath {
  const major = Number.parseInt(engine.version, 10);
  if (major < 25) return { kind: 'nvidia', why: `Docker ${engine.version} does not support CDI` };
  if (engine.cdiSpecDirs.length === 0) return { kind: 'nvidia', why: 'CDI is off in the Docker Engine' };
  if (!cdiSpec) return { kind: 'nvidia', why: 'there is no CDI specification for nvidia.com/gpu' };
  return { kind: 'cdi', why: `Docker ${engine.version} with CDI` };
}

/**
 * Returns the request for these GPUs (`GPU-…` or `MIG-…` UUIDs), or for all. UUIDs, not indices: indices shift when a GPU
 * falls off the bus. No GPUs: no request. The nvidia driver needs the UUIDs and capabilities; CDI takes neither count nor options.
 */
export function deviceRequests(
  path: GpuPath['kind'],
  gpus: readonly string[] | 'all',
  capabilities: readonly string[],
): DeviceRequest[] {
  if (gpus.length === 0) return [];
  if (path === 'cdi') {
    const ids = gpus === 'all' ? ['all'] : gpus;
    return [{ Driver: 'cdi', DeviceIDs: ids.map((id) => `nvidia.com/gpu=${id}`) }];
  }
  const Capabilities = [[...new Set([...capabilities, 'gpu'])]];
  return gpus === 'all'
    ? [{ Driver: 'nvidia', Count: -1, Capabilities }]
    : [{ Driver: 'nvidia', DeviceIDs: [...gpus], Capabilities }];
}
