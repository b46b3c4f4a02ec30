/** Paths on a host. The CLI writes these files, the manager reads them. */
export const HostPaths = {
  opt: '/opt/azp-fleet',
  runtimes: '/opt/azp-fleet/runtime',
  versions: '/opt/azp-fleet/versions',
  current: '/opt/azp-fleet/current',
  etc: '/etc/azp-fleet',
  config: '/etc/azp-fleet/manager.json',
  token: '/etc/azp-fleet/token',
  registries: '/etc/azp-fleet/registries',
  /** URL that the manager sends messages to: a secret. */
  webhook: '/etc/azp-fleet/webhook',
  caBundle: '/etc/azp-fleet/ca.pem',
  state: '/var/lib/azp-fleet',
  /** The manager's state, including its installation id. */
  managerState: '/var/lib/azp-fleet/manager.json',
  runs: '/var/lib/azp-fleet/runs',
  /** Agents directly on the host, one folder for each slot. The manager's unit creates it. */
  agents: '/var/lib/azp-fleet-agents',
  changes: '/var/lib/azp-fleet/changes',
  /** Folders of Dockerfiles, each an archive named by its sha256. */
  folders: '/var/lib/azp-fleet/folders',
  /** Uploaded archives of the agent, `SHA256.tar.gz`: they are not downloaded. */
  archives: '/var/lib/azp-fleet/archives',
  /** Manifests of uploaded images, `SHA256.json`: they prove digests that an engine does not know. */
  manifests: '/var/lib/azp-fleet/manifests',
  /** Uploaded images that Docker has not loaded yet. */
  images: '/var/lib/azp-fleet/images',
  /** The uploaded `.run` file of NVIDIA, and a record of the installed one. */
  runfile: '/var/lib/azp-fleet/runfile',
  run: '/run/azp-fleet',
  status: '/run/azp-fleet/status.json',
  socket: '/run/azp-fleet/manager.sock',
  unit: '/etc/systemd/system/azp-fleet-manager.service',
} as const;

export const managerUnit = 'azp-fleet-manager.service';

/** Returns the transient unit of a durable change, which survives the run that started it. */
export function changeUnit(id: string): string {
  return `azp-fleet-change-${id}.service`;
}

/** The manager's unit sets it to a digest of the unit's text, so that the process knows which text started it. */
export const unitMarkVariable = 'AZP_FLEET_UNIT';

/** The users of agents directly on the host. No other program uses these ids, so name and id together are ours. */
export const agentUsers = { prefix: 'azp-agent-', ids: { first: 58_000, last: 58_999 } } as const;

/** Bridge of the agents' network on the host. */
export const agentBridge = 'azp-fleet0';

/** The network of the agents' containers. */
export const agentNetwork = 'azp-fleet';

/** Priorities of the routing rules for network isolation: before the rules of VPNs and of hosts with several networks. */
export const fencePreferences = { names: '50', closed: '51', past: '52' } as const;

/** Prefix of the units of agents directly on the host. */
export const agentUnits = 'azp-fleet-agent-';

/** Labels of our containers and images. */
export const Labels = {
  /** `agent`, `probe`, `config` or `image`. */
  kind: 'azp-fleet.kind',
  host: 'azp-fleet.host',
  /** Owner id of the manager that created it, as in the agents' capability. */
  owner: 'azp-fleet.owner',
  slot: 'azp-fleet.slot',
  /** Id of the slot's run, similar to a ULID. */
  run: 'azp-fleet.run',
  agentId: 'azp-fleet.agent-id',
  poolId: 'azp-fleet.pool-id',
  gpus: 'azp-fleet.gpus',
  imageDigest: 'azp-fleet.image-digest',
  /** On an image: the id of the agent image that it was built on. */
  under: 'azp-fleet.under',
  configHash: 'azp-fleet.config-hash',
  /** Seconds that a probe or a registration may take; an older one is a leftover. */
  lifetime: 'azp-fleet.lifetime',
} as const;

/** Kinds of our containers; `stage` is a step of a build. */
const ownKinds: readonly unknown[] = ['agent', 'probe', 'config', 'stage'];

/** Returns whether we created a container: one that another program runs from our image has the kind of the image. Pure. */
export function isOurKind(kind: unknown): boolean {
  return ownKinds.includes(kind);
}

/** User capabilities of a registered agent. */
export const Capabilities = {
  owner: 'azp-fleet.owner',
  /** Inventory name of the owner's host. */
  host: 'azp-fleet.host',
  /** Names from `capabilities:`, separated by commas, so that names removed from the inventory can be removed here too. */
  added: 'azp-fleet.capabilities',
  drainReason: 'azp-fleet.disabled',
} as const;
