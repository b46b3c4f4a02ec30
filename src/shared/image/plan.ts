import { defined } from '../base/defined.ts';
import { FleetError } from '../base/errors.ts';
import { wantsGraphics, type ImageConfig, type ManagerConfig } from '../contract/config.ts';
import { Labels } from '../contract/paths.ts';
import { buildArgs, imageTag, siteArgs, topTag, withRegistry, type ImageSpec } from './build.ts';
import { chooseBase, type HostGpus } from './choose.ts';

/** Which image the agents of this host run, and how to get it. */
export type ImagePlan = PullPlan | BuildPlan | TopPlan;

interface PullPlan {
  readonly kind: 'pull';
  readonly reference: string;
  /** The host that builds and pushes it. */
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
  /** Of the folder. */
  readonly name: string;
  /** Read when it is needed. */
  readonly context: () => Promise<Buffer>;
  /** Where it is pushed, with its tag. */
  readonly push?: string;
}

type BuildConfig = Extract<ImageConfig, { kind: 'build' }>;

/** Throws a FleetError when no base fits. `readFolder`: the archive with this sha256. */
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
    graphics: wantsGraphics(config),
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
