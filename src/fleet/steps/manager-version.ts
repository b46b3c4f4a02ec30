import { sha256, stableJson } from '../../shared/base/digest.ts';
import { HostPaths } from '../../shared/contract/paths.ts';
import type { Artifact } from './change.ts';
import type { Desired } from './step.ts';

/** One version of the manager on a host: bundle, build context and the runtime they were made for. */
export interface ManagerVersion {
  readonly id: string;
  /** `/opt/azp-fleet/versions/ID` */
  readonly directory: string;
  readonly runtime: Artifact;
  /** `/opt/azp-fleet/runtime/ID` */
  readonly runtimeDirectory: string;
}

/** Named by content, so that an upload that was cut short is never taken for a whole one and nothing is sent twice. */
export function managerVersion({ artifacts }: Desired, runtime: Artifact): ManagerVersion {
  const context = artifacts.context.map(({ path, artifact }) => [path, artifact.sha256]);
  const id = sha256(stableJson([artifacts.manager.sha256, runtime.sha256, context])).slice(0, 12);
  return {
    id,
    directory: `${HostPaths.versions}/${id}`,
    runtime,
    runtimeDirectory: `${HostPaths.runtimes}/${runtime.sha256.slice(0, 12)}`,
  };
}

/** `/opt/azp-fleet/current` already points at this version. */
export function isCurrent(version: ManagerVersion, link: string | undefined): boolean {
  return link?.split('/').at(-1) === version.id;
}
