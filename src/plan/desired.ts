import { sha256 } from '../base/digest.ts';
import { defined } from '../base/defined.ts';
import type { HostRoot } from '../base/machine/host-root.ts';
import type { Secret } from '../base/secret.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import type { Desired } from '../steps/step.ts';

/** What the CLI adds to the inventory. */
export interface FromCli {
  readonly artifacts: Desired['artifacts'];
  readonly credential: Secret | undefined;
  /** The content of proxy.ca. */
  readonly caPem: string | undefined;
  readonly version: string;
  readonly root: HostRoot;
}

/** What is wanted on each host: the inventory and what the CLI brings along. */
export function desiredOf(fleet: Fleet, fromCli: FromCli): (host: HostSpec) => Desired {
  const { credential, artifacts, version, root } = fromCli;
  return (host) => ({
    host,
    organization: fleet.organization,
    credential: fleet.credential,
    credentialDigest:
      credential === undefined ? undefined : (machineId) => sha256(`${machineId}:${credential.reveal()}`),
    mirrors: fleet.mirrors,
    proxy: { ...fleet.proxy, ...defined({ caPem: fromCli.caPem }) },
    artifacts,
    version,
    root,
  });
}
