import type { Facts } from '../../facts/facts.ts';
import { type FactsWith, statusOf } from '../../facts/unread.ts';
import type { IncludedImage } from './content.ts';
import { change, type Refusal, refusal, upload } from '../change.ts';
import { generationOf } from '../driver/generations.ts';
import { isDesiredDriver } from '../driver/compatibility.ts';
import { agentArch, managerConfig } from '../manager/config.ts';
import type { Desired, Planned } from '../step.ts';
import { FleetError } from '../../../shared/base/errors.ts';
import { failFunction, Raw, sh } from '../../../shared/base/shell.ts';
import { valueOf } from '../../../shared/base/reading.ts';
import type { AgentArch } from '../../../shared/contract/agent-release.ts';
import { imagesOf } from '../../../shared/contract/config.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { cudaOfDriver, type HostGpus } from '../../../shared/image/choose.ts';
import { type ImagePlan, planImageFor } from '../../../shared/image/plan.ts';

/** Loads the bundle's agent images that the host's engine lacks. Without a bundle: nothing. */
export function* loadImages(facts: Facts, desired: Desired): Generator<Planned | Refusal> {
  const { included } = desired;
  const arch = agentArch(facts.arch);
  if (included === undefined || arch === undefined) return;
  for (const reference of desiredImages(facts, desired, included.context)) {
    if (isThere(facts, reference)) continue;
    const image = included.image(reference, facts.arch);
    if (image !== undefined) yield load(reference, image, facts);
    else {
      const others = included.images(facts.arch);
      const has = others.length === 0 ? 'none' : others.slice(0, 4).join(', ');
      yield refusal(
        'image',
        `the bundle lacks image ${reference}, which this host needs; it has ${has}`,
        included.rebuild,
      );
    }
  }
}

/** Returns no image where no base fits: the manager then reports `image.no-base`. */
function desiredImages(facts: Facts, desired: Desired, context: Buffer): readonly string[] {
  const arch = agentArch(facts.arch);
  const noFolder = (): Promise<Buffer> => Promise.reject(new Error('only the reference is needed'));
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
  { docker, containerdRoot }: Facts,
): Planned {
  const { sha256, size, part } = archive;
  const file = `${HostPaths.images}/${sha256}.image`;
  const bytes = part?.bytes ?? size;
  return change(
    'image',
    'load',
    {
      title: `load image ${reference} from the bundle (${Math.ceil(bytes / 1e6)} MB)`,
      why: 'Docker Engine does not have it',
      disturbs: 'nothing',
      unpacks: docker.byContainerd
        ? // It keeps the archive's layers beside the unpacked ones.
          { folder: containerdRoot, bytes: bytes + (unpacked ?? bytes) }
        : { folder: docker.rootDir, bytes: unpacked ?? bytes },
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

/** Loads the image and checks that the engine then knows one of `names`. */
export function loadScript(file: string, reference: string, names: readonly string[]): string {
  return sh`${new Raw(failFunction)}
output=$(docker load -i ${file} 2>&1) ||
  fail 'docker load failed for an image of the bundle' ${reference} "$output" 'check the disk of Docker (docker system df), and run again'
set -- ${names}
for name; do
  if docker image inspect "$name" >/dev/null 2>&1; then
    rm -f ${file}
    exit 0
  fi
done
fail 'docker load loaded the image of the bundle under another name' ${reference} "$output" 'make the bundle again'`;
}

/**
 * Returns the images that this host's manager will choose once the desired driver runs, by that driver and the GPUs'
 * generations. Images that another host builds come from the site's registry and are left out. `context`: the build context.
 * @throws FleetError `image.no-base` when no base fits.
 */
export function agentImages(
  facts: FactsWith<'gpus' | 'driver'>,
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

function expectedGpus(facts: FactsWith<'gpus' | 'driver'>, { host }: Desired): HostGpus {
  const { arch, gpus, driver } = facts;
  const health = valueOf(statusOf(facts))?.health;
  const keepsDriver = driver.loaded !== undefined && isDesiredDriver(facts, host);
  const cudaMax = keepsDriver
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
