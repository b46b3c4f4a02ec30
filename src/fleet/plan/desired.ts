import { sha256 } from '../../shared/base/digest.ts';
import { defined } from '../../shared/base/objects.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import type { Desired } from '../steps/step.ts';

/** What the CLI adds to the inventory. */
export interface FromCli {
  readonly artifacts: Desired['artifacts'];
  readonly credential: Secret | undefined;
  /** The text of /etc/azp-fleet/registries; undefined: not read, or the inventory names none. */
  readonly registries: Secret | undefined;
  /** Where the messages of hosts go, by host; a host that is not there is left as it is, unless it is to have none. */
  readonly webhooks: ReadonlyMap<string, Secret>;
  /** The content of proxy.ca. */
  readonly caPem: string | undefined;
  readonly included?: NonNullable<Desired['included']>;
  readonly version: string;
  readonly root: HostRoot;
}

/** What is wanted on each host: the inventory and what the CLI brings along. */
export function desiredOf(fleet: Fleet, fromCli: FromCli): (host: HostSpec) => Desired {
  const { credential, registries, webhooks, artifacts, version, root } = fromCli;
  return (host) => ({
    host,
    organization: fleet.organization,
    credential: fleet.credential,
    credentialDigest: salted(credential),
    registries: { names: Object.keys(fleet.registries), digest: salted(registries) },
    webhookDigest: salted(webhooks.get(host.name)),
    builder: fleet.hosts.find(({ name }) => name === host.dockerfile?.builder),
    mirrors: fleet.mirrors,
    proxy: { ...fleet.proxy, ...defined({ caPem: fromCli.caPem }) },
    artifacts,
    ...defined({ included: fromCli.included }),
    version,
    root,
  });
}

/** A host can make it of its file and nobody can turn it back, without a guess at the secret itself. */
function salted(secret: Secret | undefined): ((machineId: string) => string) | undefined {
  return secret && ((machineId) => sha256(`${machineId}:${secret.reveal()}`));
}
