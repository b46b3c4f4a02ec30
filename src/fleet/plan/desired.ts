import { sha256 } from '../../shared/base/digest.ts';
import { defined } from '../../shared/base/objects.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import type { Secret } from '../../shared/base/secret.ts';
import type { Fleet, HostSpec } from '../inventory/fleet.ts';
import type { Desired } from '../steps/step.ts';

/** The CLI's additions to the inventory. */
export interface FromCli {
  readonly artifacts: Desired['artifacts'];
  readonly credential: Secret | undefined;
  /** The text of /etc/azp-fleet/registries; undefined: not read, or the inventory names none. */
  readonly registries: Secret | undefined;
  /** Webhook URL by host. A host that is missing here is unchanged, unless its inventory has no webhook. */
  readonly webhooks: ReadonlyMap<string, Secret>;
  /** The content of proxy.ca. */
  readonly caPem: string | undefined;
  readonly included?: NonNullable<Desired['included']>;
  readonly version: string;
  readonly root: HostRoot;
}

/** Returns the desired state of each host: the inventory and the CLI's additions. */
export function desiredOf(fleet: Fleet, fromCli: FromCli): (host: HostSpec) => Desired {
  const { credential, registries, webhooks, artifacts, version, root } = fromCli;
  return (host) => ({
    host,
    organization: fleet.organization,
    credential: fleet.identity ?? fleet.credential,
    credentialDigest: fleet.identity === undefined ? salted(credential) : undefined,
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

/** Returns a digest that a host can compute from its file, and that reveals the secret only to a correct guess. */
export function salted(secret: Secret): (machineId: string) => string;
export function salted(secret: Secret | undefined): ((machineId: string) => string) | undefined;
export function salted(secret: Secret | undefined): ((machineId: string) => string) | undefined {
  return secret && ((machineId) => sha256(`${machineId}:${secret.reveal()}`));
}
