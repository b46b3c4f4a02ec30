import { createHash } from 'node:crypto';
import { defined } from '../base/objects.ts';
import { FleetError } from '../base/errors.ts';
import { type ImageConfig, type ManagerConfig, needsGraphics } from '../contract/config.ts';
import { Labels } from '../contract/paths.ts';
import { chooseBase, type HostGpus } from './choose.ts';
import { tar, type TarEntry } from '../base/tar.ts';
import { registryOf } from './reference.ts';

/** Which image the agents of this host run, and how to get it. */
export type ImagePlan = PullPlan | BuildPlan | TopPlan;

interface PullPlan {
  readonly kind: 'pull';
  readonly reference: string;
  /** The host that builds and pushes the image. */
  readonly builtBy?: string;
}

export interface BuildPlan {
  readonly kind: 'build';
  readonly reference: string;
  readonly context: Buffer;
  readonly args: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

/** A team's folder, built on the image `under`. */
export interface TopPlan extends Omit<BuildPlan, 'kind' | 'context'> {
  readonly kind: 'top';
  readonly under: BuildPlan;
  /** Name of the folder. */
  readonly name: string;
  /** Reads the folder. */
  readonly context: () => Promise<Buffer>;
  /** Reference that it is pushed to. */
  readonly push?: string;
}

type BuildConfig = Extract<ImageConfig, { kind: 'build' }>;

/** Plans the image of a host's agents. Throws a FleetError when no base fits. `readFolder` returns the archive with a sha256. */
export function planImageFor(
  config: ManagerConfig,
  host: HostGpus,
  context: Buffer,
  readFolder: (sha256: string) => Promise<Buffer>,
): ImagePlan {
  const { image } = config;
  if (image.kind === 'registry')
    return { kind: 'pull', reference: image.reference, ...defined({ builtBy: image.builtBy }) };
  const under = planBuild(config, image, host, context);
  const { top } = image;
  if (top === undefined) return under;
  return {
    kind: 'top',
    reference: topTag(under.reference, top.name, top.folder),
    under,
    name: top.name,
    context: () => readFolder(top.folder),
    args: siteArgs({ ...defined({ aptMirror: image.aptMirror }), proxy: config.proxy }),
    labels: under.labels,
    ...defined({ push: top.push }),
  };
}

function planBuild(config: ManagerConfig, image: BuildConfig, host: HostGpus, context: Buffer): BuildPlan {
  const base = chosenBase(image, host);
  const spec: ImageSpec = {
    base: withRegistry(base.reference, image.registry),
    flavour: base.flavour,
    agentVersion: image.agentVersion,
    agentUrl: image.agentUrl,
    agentSha256: image.agentSha256,
    sudo: config.jobs.sudo,
    docker: config.jobs.docker,
    graphics: needsGraphics(config),
    ...defined({ aptMirror: image.aptMirror }),
    proxy: config.proxy,
  };
  return {
    kind: 'build',
    reference: imageTag(spec, context),
    context,
    args: buildArgs(spec),
    labels: { [Labels.kind]: 'image', [Labels.host]: config.host },
  };
}

function chosenBase(
  image: BuildConfig,
  host: HostGpus,
): { readonly reference: string; readonly flavour: string } {
  if (image.base !== undefined) return { reference: image.base, flavour: 'custom' };
  const choice = chooseBase(host);
  if (!choice.ok) throw new FleetError({ code: 'image.no-base', what: choice.what, next: choice.next });
  return {
    reference: `docker.io/${choice.tag}`,
    flavour: choice.cuda === undefined ? 'cpu' : `cuda${choice.cuda}`,
  };
}

export interface ImageSpec {
  /** Base image with its registry, e.g. `docker.io/nvidia/cuda:13.2.1-base-ubuntu24.04`. */
  readonly base: string;
  /** Shown in the tag: `cuda13.2`, `cpu`, `custom`. */
  readonly flavour: string;
  readonly agentVersion: string;
  readonly agentUrl: string;
  /** Hex. */
  readonly agentSha256: string;
  /** Jobs may become root inside their container. */
  readonly sudo: boolean;
  /** Jobs get the Docker socket, so its client too. */
  readonly docker: boolean;
  /** EGL, OpenGL and Vulkan loaders. */
  readonly graphics: boolean;
  /** Base URL that replaces the hosts of Ubuntu's and Debian's archives. */
  readonly aptMirror?: string;
  readonly proxy?: { readonly http?: string; readonly https?: string; readonly noProxy: readonly string[] };
}

/** The Dockerfile's arguments. */
export function buildArgs(spec: ImageSpec): Readonly<Record<string, string>> {
  return {
    BASE: spec.base,
    AGENT_VERSION: spec.agentVersion,
    AGENT_URL: spec.agentUrl,
    AGENT_SHA256: spec.agentSha256,
    JOBS_SUDO: spec.sudo ? '1' : '0',
    DOCKER_CLIENT: spec.docker ? '1' : '0',
    GRAPHICS: spec.graphics ? '1' : '0',
    ...siteArgs(spec),
  };
}

/** Returns the build arguments of a site's network. Docker keeps these proxy names out of the image's history. */
function siteArgs({ aptMirror, proxy }: Pick<ImageSpec, 'aptMirror' | 'proxy'>): Record<string, string> {
  const { http, https, noProxy = [] } = proxy ?? {};
  return {
    ...(aptMirror === undefined ? {} : { APT_MIRROR: aptMirror.replace(/\/+$/, '') }),
    ...(http === undefined ? {} : { http_proxy: http }),
    ...(https === undefined ? {} : { https_proxy: https }),
    ...(noProxy.length === 0 ? {} : { no_proxy: noProxy.join(',') }),
  };
}

/** `azp-fleet/agent:4.255.0-cuda13.2-1a2b3c4d5e6f`: the last part changes with all inputs of the image. */
export function imageTag(spec: ImageSpec, context: Buffer): string {
  const { proxy: _, ...identity } = spec;
  const digest = createHash('sha256')
    .update(JSON.stringify(identity))
    .update(context)
    .digest('hex')
    .slice(0, 12);
  return `azp-fleet/agent:${spec.agentVersion}-${spec.flavour}-${digest}`;
}

/** `azp-fleet/agent:…-vision-1a2b3c4d5e6f`: the tag of the agent image, and the folder built on it. */
function topTag(agentTag: string, name: string, folder: string): string {
  return `${agentTag}-${name}-${folder.slice(0, 12)}`;
}

/** Packs the build context reproducibly, so that equal files give an equal tag. */
export function contextTar(files: readonly Pick<TarEntry, 'path' | 'content' | 'mode'>[]): Promise<Buffer> {
  return tar([...files].sort((a, b) => (a.path < b.path ? -1 : 1)));
}

/**
 * Moves a docker.io reference to another registry: `nvidia/cuda:1` → `registry.example/hub/nvidia/cuda:1`.
 * A reference with a registry is unchanged.
 */
export function withRegistry(reference: string, registry: string | undefined): string {
  if (registry === undefined || registryOf(reference) !== 'docker.io') return reference;
  const path = reference.replace(/^docker\.io\//, '');
  return `${registry.replace(/\/+$/, '')}/${path.includes('/') ? path : `library/${path}`}`;
}
