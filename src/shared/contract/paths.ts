/** Where things live on a host. The CLI writes them, the manager reads them. */
export const HostPaths = {
  opt: '/opt/azp-fleet',
  runtimes: '/opt/azp-fleet/runtime',
  versions: '/opt/azp-fleet/versions',
  current: '/opt/azp-fleet/current',
  etc: '/etc/azp-fleet',
  config: '/etc/azp-fleet/manager.json',
  token: '/etc/azp-fleet/token',
  registries: '/etc/azp-fleet/registries',
  /** The address that the manager sends messages to: a secret. */
  webhook: '/etc/azp-fleet/webhook',
  caBundle: '/etc/azp-fleet/ca.pem',
  state: '/var/lib/azp-fleet',
  /** What the manager remembers, its installation among it. */
  managerState: '/var/lib/azp-fleet/manager.json',
  runs: '/var/lib/azp-fleet/runs',
  /** Agents straight on the host, a folder a slot. The manager's unit makes it. */
  agents: '/var/lib/azp-fleet-agents',
  changes: '/var/lib/azp-fleet/changes',
  /** Folders of Dockerfiles, each an archive named by its sha256. */
  folders: '/var/lib/azp-fleet/folders',
  /** Archives of the agent that were brought, `SHA256.tar.gz`: they are not fetched. */
  archives: '/var/lib/azp-fleet/archives',
  /** Manifests of images that were brought, `SHA256.json`: they prove digests by which engines do not know them. */
  manifests: '/var/lib/azp-fleet/manifests',
  /** Images on their way into Docker. */
  images: '/var/lib/azp-fleet/images',
  /** NVIDIA's `.run` file on its way, and what is known of the one that was installed. */
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

/** The manager's unit sets it to a digest of its own text, so that the process knows by which one it was started. */
export const unitMarkVariable = 'AZP_FLEET_UNIT';

/** The users of agents straight on the host: below no others' numbers, so that name and number together are ours. */
export const agentUsers = { prefix: 'azp-agent-', ids: { first: 58_000, last: 58_999 } } as const;

/** Bridge of the agents' network on the host. */
export const agentBridge = 'azp-fleet0';

/** The network of the agents' containers. */
export const agentNetwork = 'azp-fleet';

/** Routing rules of the fence: before the rules of VPNs and of hosts with several networks. */
export const fencePreferences = { names: '50', closed: '51', past: '52' } as const;

/** Begins the names of the units of agents straight on the host. */
export const agentUnits = 'azp-fleet-agent-';

/** Labels on every container and image that is ours. */
export const Labels = {
  /** `agent`, `probe`, `config` or `image`. */
  kind: 'azp-fleet.kind',
  host: 'azp-fleet.host',
  /** Owner id of the manager that made it, as in the agents' capability. */
  owner: 'azp-fleet.owner',
  slot: 'azp-fleet.slot',
  /** Which run of the slot, a ULID-like id. */
  run: 'azp-fleet.run',
  agentId: 'azp-fleet.agent-id',
  poolId: 'azp-fleet.pool-id',
  gpus: 'azp-fleet.gpus',
  imageDigest: 'azp-fleet.image-digest',
  /** Of an image: the id of the agent image that it was built on. */
  under: 'azp-fleet.under',
  configHash: 'azp-fleet.config-hash',
  /** Seconds that a probe or a registration may take; one that is older was left behind. */
  lifetime: 'azp-fleet.lifetime',
} as const;

/** What our containers are made as; `stage`: a step of a build. */
const ownKinds: readonly unknown[] = ['agent', 'probe', 'config', 'stage'];

/** Returns whether we made a container: one that another program runs from our image has the image's kind. Pure. */
export function isOurKind(kind: unknown): boolean {
  return ownKinds.includes(kind);
}

/** User capabilities of a registered agent. */
export const Capabilities = {
  owner: 'azp-fleet.owner',
  /** Inventory name of the owner's host. */
  host: 'azp-fleet.host',
  /** Names from `capabilities:`, by comma: what the inventory no longer has can be taken back. */
  added: 'azp-fleet.capabilities',
  drainReason: 'azp-fleet.disabled',
} as const;
