import type { Facts } from '../facts/facts.ts';
import { folderDigest } from '../facts/probes/manager.ts';
import { loadImages } from './bundle/images.ts';
import { type Action, type Change, change, type Detail, later, type Refusal, refusal } from './change.ts';
import { agentArch, buildsImage } from './manager/config.ts';
import { isCurrent, managerVersion, runtimeOf } from './manager/version.ts';
import { laterPools } from './pool-names.ts';
import type { Desired, Step } from './step.ts';
import { defined } from '../../shared/base/objects.ts';
import { sh } from '../../shared/base/shell.ts';
import { HostPaths } from '../../shared/contract/paths.ts';

/**
 * Prepares the agent image. The manager chooses, builds, pulls and pins it; this step uploads the build context and refuses
 * hosts without an agent.
 */
export const imageStep: Step = {
  name: 'image',
  *plan(facts, desired) {
    const refused = refuse(facts);
    if (refused === undefined) yield* loadImages(facts, desired);
    if (refused !== undefined) yield refused;
    else if (buildsImage(desired)) {
      const changes = [...uploadContext(facts, desired), ...uploadFolder(facts, desired)];
      // The build context is used from the manager's next start, which waits for the name of its pool.
      const waits = laterPools(desired.host, facts).length > 0;
      yield* waits ? changes.map((each) => later(each, 'driver')) : changes;
    }
  },
};

function refuse(facts: Facts): Refusal | undefined {
  if (agentArch(facts.arch) !== undefined) return undefined;
  const next = 'remove this host from the inventory; x86_64 and aarch64 are supported';
  return refusal('image', `no Azure Pipelines agent exists for ${facts.arch}`, next);
}

function* uploadContext(facts: Facts, desired: Desired): Iterable<Change> {
  const runtime = runtimeOf(facts, desired);
  if (runtime === undefined) return;
  const version = managerVersion(desired, runtime);
  if (isCurrent(version, facts.manager.current)) return;
  const target = `${version.directory}/dockeragent`;
  const folders = new Set(desired.artifacts.context.map(({ path }) => folderOf(`${target}/${path}`)));
  const actions: Action[] = [
    {
      kind: 'run',
      durable: false,
      timeoutS: 30,
      script: sh`umask 022; mkdir -p ${[...folders]}`,
      writes: [HostPaths.opt],
    },
    ...desired.artifacts.context.map(({ path, artifact }) => ({
      kind: 'upload' as const,
      artifact,
      path: `${target}/${path}`,
      mode: path.endsWith('.sh') ? 0o755 : 0o644,
    })),
  ];
  const title = `upload the build context of agent image ${desired.host.agent.version}`;
  const why = 'the host has no build context of this version';
  const details = rebuiltImageDetails(facts, desired);
  yield change('image', 'context', { title, why, disturbs: 'nothing', ...defined({ details }) }, actions);
}

/** Uploads a Dockerfile's folder; the manager builds from it at its next start. */
function* uploadFolder(facts: Facts, { host, artifacts }: Desired): Iterable<Change> {
  const folder = host.dockerfile && artifacts.folders.get(host.dockerfile.folder);
  if (folder === undefined || facts.manager.folders.includes(folder.artifact.sha256)) return;
  const { name, files, artifact } = folder;
  const size = `${files} ${files === 1 ? 'file' : 'files'}, ${Math.ceil(artifact.size / 1024)} KiB`;
  const title = `build the image of ${name} on top of agent image ${host.agent.version}`;
  const seen = facts.manager.folders.length === 0 ? 'the host has no such folder' : 'the folder has changed';
  const push = host.dockerfile?.push === undefined ? '' : `; pushed to ${host.dockerfile.push}`;
  const why = `${seen} (${size})${push}; one agent first, the others once it works; running jobs finish first`;
  const marker = facts.manager.folders.length === 0 ? 'add' : 'change';
  yield change('image', 'folder', { title, why, disturbs: 'nothing', marker }, [
    { kind: 'upload', artifact, path: `${HostPaths.folders}/${artifact.sha256}.tar`, mode: 0o600 },
  ]);
}

function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}

/**
 * Describes what a new build context does to the slots. Undefined where the host has not built from another context, or no
 * slot uses its image. Pure.
 */
function rebuiltImageDetails(
  { manager }: Facts,
  { host, artifacts }: Desired,
): readonly Detail[] | undefined {
  if (manager.context === undefined || manager.context === contextDigest(artifacts.context)) return undefined;
  const slots = host.agents.kind === 'slots' ? host.agents.slots : [];
  const others = slots.filter(({ mode, image }) => mode === 'host' || image !== undefined).length;
  if (others > 0 && others === slots.length && host.dockerfile?.push === undefined) return undefined;
  const movers = others === 0 ? 'all slots' : 'slots that run it';
  const effect = `${movers} move to it: one first, the others once it works; running jobs finish first`;
  return [{ marker: 'change', text: 'the agent image is rebuilt', effect }];
}

/** Returns the digest of the build context as hosts report it. */
export function contextDigest(context: Desired['artifacts']['context']): string {
  return folderDigest(context.map(({ path, artifact }) => ({ path, sha256: artifact.sha256 })));
}
