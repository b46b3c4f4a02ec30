import type { Desired } from '../step.ts';
import { defined } from '../../../shared/base/objects.ts';
import { sha256, stableJson } from '../../../shared/base/digest.ts';
import {
  type AgentArch,
  agentDownloads,
  agentSha256,
  agentUrl,
} from '../../../shared/contract/agent-release.ts';
import type { ImageConfig, ManagerConfig } from '../../../shared/contract/config.ts';
import { withRegistry } from '../../../shared/image/plan.ts';

/** Loopback port of the manager's Prometheus metrics. */
const metricsPort = 9417;

/** Returns the Azure Pipelines agent's name of an architecture, `x64` or `arm64`; undefined where Microsoft ships no agent. */
export function agentArch(arch: string): AgentArch | undefined {
  return ({ x86_64: 'x64', aarch64: 'arm64' } as const)[arch];
}

/** Returns the configuration of this host's manager. Pure; holds no secret. */
export function managerConfig(desired: Desired, arch: AgentArch): ManagerConfig {
  const { host, credential, proxy } = desired;
  return {
    schema: schemaFor(credential),
    host: host.name,
    organization: desired.organization,
    credential: credentialConfig(credential),
    pool: host.pool,
    agents: mirrored(host.agents, desired.mirrors.images),
    share: host.share,
    ...defined({ gpus: host.gpus, ignoredGpus: host.ignoredGpus }),
    agentName: host.agentName,
    limits: host.limits,
    driverCapabilities: host.driverCapabilities,
    image: imageConfig(desired, arch),
    datasets: host.datasets,
    jobs: host.jobs,
    ...(host.fence === 'required' ? { fence: host.fence } : {}),
    registration: host.registration,
    capabilities: host.capabilities,
    proxy: {
      ...defined({ http: proxy.http, https: proxy.https }),
      noProxy: proxy.noProxy,
      ca: proxy.caPem !== undefined,
      ...(proxy.caPem === undefined ? {} : { caSha256: sha256(proxy.caPem) }),
    },
    ...defined({ webhook: webhookConfig(host), idle: host.idle }),
    ...(host.connectivityCheck === 'off' ? { connectivityCheck: host.connectivityCheck } : {}),
    metricsPort,
  };
}

/** Adds the image mirror to slots' images without a registry, as for hosts' images. */
function mirrored(agents: ManagerConfig['agents'], registry: string | undefined): ManagerConfig['agents'] {
  if (agents.kind !== 'slots') return agents;
  const slots = agents.slots.map((slot) =>
    slot.image === undefined ? slot : { ...slot, image: withRegistry(slot.image, registry) },
  );
  return { ...agents, slots };
}

/** Returns when the webhook is called; its address is a secret and not included. */
function webhookConfig({ webhook }: Desired['host']): ManagerConfig['webhook'] {
  return webhook && { offlineS: webhook.offlineS, queueWaitS: webhook.queueWaitS };
}

function credentialConfig(credential: Desired['credential']): ManagerConfig['credential'] {
  if (credential.kind === 'pat') return { kind: 'pat' };
  if (credential.kind === 'managed-identity') return credential;
  const { kind, clientId, tenantId, authority, proof } = credential;
  const { tokenFile } = 'tokenFile' in credential ? credential : {};
  return { kind, clientId, tenantId, ...defined({ authority, proof, tokenFile }) };
}

function schemaFor(credential: Desired['credential']): ManagerConfig['schema'] {
  if (credential.kind === 'pat') return 1;
  return credential.kind === 'managed-identity' || credential.proof !== undefined ? 2 : 1;
}

/** Returns whether the managers log in with a secret that is stored on their host. */
export function storesSecret(credential: Desired['credential']): boolean {
  if (credential.kind === 'managed-identity') return false;
  return credential.kind === 'pat' || credential.proof !== 'federation';
}

/** Returns the file's text. The manager reports the sha256 of exactly these bytes as its `configHash`. */
export function configText(config: ManagerConfig): string {
  return `${JSON.stringify(config, null, 2)}\n`;
}

function imageConfig(desired: Desired, arch: AgentArch): ImageConfig {
  const { host, mirrors } = desired;
  if (host.image !== undefined)
    return { kind: 'registry', reference: withRegistry(host.image, mirrors.images) };
  const pushed = pushedReference(desired, arch);
  if (pushed !== undefined && !buildsImage(desired))
    return { kind: 'registry', reference: pushed, ...defined({ builtBy: host.dockerfile?.builder }) };
  const { version, sha256 } = host.agent;
  return {
    kind: 'build',
    ...defined({ base: host.baseImage, registry: mirrors.images, aptMirror: mirrors.apt }),
    agentVersion: version,
    agentSha256: sha256[arch] ?? agentSha256(version, arch),
    agentUrl: agentUrl(mirrors.agent ?? agentDownloads, version, arch),
    ...topImage(desired, pushed),
  };
}

function topImage(
  { host, artifacts }: Desired,
  push: string | undefined,
): Pick<Extract<ImageConfig, { kind: 'build' }>, 'top'> {
  const folder = host.dockerfile && artifacts.folders.get(host.dockerfile.folder);
  if (folder === undefined) return {};
  return { top: { name: folder.name, folder: folder.artifact.sha256, ...defined({ push }) } };
}

/** Returns whether this host builds its image; otherwise it pulls one. */
export function buildsImage({ host }: Desired): boolean {
  if (host.image !== undefined) return false;
  return host.dockerfile?.builder === undefined || host.dockerfile.builder === host.name;
}

/**
 * Returns the image that the builder pushes and other hosts pull: `registry.example/vision/agent:5.279.0-x64-1a2b3c4d5e6f`.
 * The end of the tag is a digest of the builder's inputs in the inventory, so that all hosts know the name in advance. The
 * base is not part of it: the builder's GPUs and driver decide that.
 */
function pushedReference({ host, builder, artifacts }: Desired, arch: AgentArch): string | undefined {
  const { folder, push } = host.dockerfile ?? {};
  const uploaded = folder === undefined ? undefined : artifacts.folders.get(folder);
  if (push === undefined || builder === undefined || uploaded === undefined) return undefined;
  const { agent, baseImage, jobs, driverCapabilities, agents } = builder;
  const capabilities =
    agents.kind === 'slots' ? agents.slots.flatMap((slot) => slot.capabilities) : driverCapabilities;
  const inputs = {
    folder: uploaded.artifact.sha256,
    context: artifacts.context.map(({ path, artifact }) => [path, artifact.sha256]),
    made: { agent, baseImage, jobs },
    capabilities: [...new Set(capabilities)].sort(),
  };
  return `${push}:${agent.version}-${arch}-${sha256(stableJson(inputs)).slice(0, 12)}`;
}
