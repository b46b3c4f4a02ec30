import type { Facts } from '../../facts/facts.ts';
import type { IncludedImage } from './content.ts';
import { change, type Refusal, refusal, upload } from '../change.ts';
import { generationOf } from '../driver/generations.ts';
import { isDesiredDriver } from '../driver/compatibility.ts';
import { agentArch, managerConfig } from '../manager/config.ts';
import type { Desired, Planned } from '../step.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import type { AgentArch } from '../../../shared/contract/agent-release.ts';
import { imagesOf } from '../../../shared/contract/config.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { cudaOfDriver, type HostGpus } from '../../../shared/image/choose.ts';
import { type ImagePlan, planImageFor } from '../../../shared/image/plan.ts';

/** The agents' images out of the included, those that the host's engine does not show. Without included: none. */
export function* loadImages(facts: Facts, desired: Desired): Generator<Planned | Refusal> {
  const { included } = desired;
  const arch = agentArch(facts.arch);
  if (included === undefined || arch === undefined) return;
  for (const reference of wanted(facts, desired, included.context)) {
    if (isThere(facts, reference)) continue;
    const image = included.image(reference, facts.arch);
    if (image !== undefined) yield load(reference, image, facts);
    else {
      const others = included.images(facts.arch);
      const has = others.length === 0 ? 'none' : others.slice(0, 4).join(', ');
      yield refusal(
        'image',
        `the bundle has no image ${reference}, which this host will want; it has ${has}`,
        included.again,
      );
    }
  }
}

/** Where no base fits, the manager says so, and nothing is loaded. */
function wanted(facts: Facts, desired: Desired, context: Buffer): readonly string[] {
  const arch = agentArch(facts.arch);
  const noFolder = (): Promise<Buffer> => Promise.reject(new Error('only the name is asked for'));
  try {
    return arch === undefined
      ? []
      : agentImages(facts, desired, arch, context, noFolder).map(({ reference }) => reference);
  } catch (error) {
    if (error instanceof FleetError && error.problem.code === 'image.no-base') return [];
    throw error;
  }
}

function isThere({ docker, manager }: Facts, reference: string): boolean {
  const kept = manager.status === undefined ? [] : manager.status.images;
  return (
    docker.images.includes(reference) ||
    kept.some((image) => image.reference === reference && image.state === 'ready')
  );
}

function load(
  reference: string,
  { archive, proof, unpacked }: IncludedImage,
  { docker: { rootDir } }: Facts,
): Planned {
  const { sha256, size, part } = archive;
  const file = `${HostPaths.images}/${sha256}.image`;
  const bytes = part?.bytes ?? size;
  return change(
    'image',
    'load',
    {
      title: `load the image ${reference} of the bundle (${Math.ceil(bytes / 1e6)} MB)`,
      why: 'Docker Engine does not have it',
      disturbs: 'nothing',
      unpacks: { folder: rootDir, bytes: unpacked ?? bytes },
    },
    [
      upload(archive, file, 0o600),
      ...(proof?.manifests ?? []).map((each) =>
        upload(each, `${HostPaths.manifests}/${each.sha256}.json`, 0o600),
      ),
      {
        kind: 'run',
        durable: true,
        timeoutS: 3600,
        script: loadScript(file, reference, proof?.ids ?? [reference]),
        writes: [HostPaths.images],
      },
    ],
  );
}

/** `names`: the image is there when the engine knows one of them. */
export function loadScript(file: string, reference: string, names: readonly string[]): string {
  return sh`${new Raw(failFunction)}
words=$(docker load -i ${file} 2>&1) ||
  fail 'the image of the bundle cannot be loaded' ${reference} "$words" 'look at the disk of Docker (docker system df), and run again'
set -- ${names}
for name; do
  if docker image inspect "$name" >/dev/null 2>&1; then
    rm -f ${file}
    exit 0
  fi
done
fail 'the image of the bundle goes by another name' ${reference} "$words" 'make the bundle again'`;
}

/**
 * The images that the manager of this host will want, as it will choose them once the driver runs: by the driver that is
 * wanted, and by what the GPUs' generations can. What another host builds comes from the site's own registry and is not among
 * them. `context`: the build context. Throws a FleetError when no base fits.
 */
export function agentImages(
  facts: Facts,
  desired: Desired,
  arch: AgentArch,
  context: Buffer,
  readFolder: (sha256: string) => Promise<Buffer>,
): readonly ImagePlan[] {
  const config = managerConfig(desired, arch);
  const gpus = expectedGpus(facts, desired);
  return imagesOf(config)
    .filter((image) => image.kind === 'build' || image.builtBy === undefined)
    .map((image) => planImageFor({ ...config, image }, gpus, context, readFolder));
}

function expectedGpus(facts: Facts, { host }: Desired): HostGpus {
  const { arch, gpus, driver, manager } = facts;
  const health = manager.status?.health;
  const stays = driver.loaded !== undefined && isDesiredDriver(facts, host);
  const cudaMax = stays
    ? (health?.cudaVersion ?? cudaOfDriver(driver.loaded))
    : cudaOfDriver(host.driver.version ?? host.driver.branch);
  const seen = (health?.gpus ?? []).flatMap(({ computeCapability }) => computeCapability ?? []);
  return {
    arch,
    cudaMax,
    capabilities: seen.length > 0 ? seen : gpus.map(({ deviceId }) => generationOf(deviceId).capability),
    cpuOnly: gpus.length === 0,
  };
}
