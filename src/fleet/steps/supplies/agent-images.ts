import type { AgentArch } from '../../../shared/contract/agent-digests.ts';
import { imagesOf } from '../../../shared/contract/config.ts';
import type { Facts } from '../../facts/facts.ts';
import { cudaOfDriver, type HostGpus } from '../../../shared/image/choose.ts';
import { type ImagePlan, planImageFor } from '../../../shared/image/plan.ts';
import { generationOf } from '../driver/generations.ts';
import { driverIsWanted } from '../driver/wanted.ts';
import { managerConfig } from '../manager-config.ts';
import type { Desired } from '../step.ts';

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
  const stays = driver.loaded !== undefined && driverIsWanted(facts, host);
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
