import type { ManagerConfig } from '../../../shared/contract/config.ts';
import type { Facts } from '../../facts/facts.ts';
import { chooseBase, cudaOfDriver, type HostGpus } from '../../../shared/image/choose.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import type { Detail, Shape } from '../change.ts';
import { driverIsWanted } from '../driver/wanted.ts';
import { details, item } from '../description.ts';

/**
 * A manager that is as wanted has to start again after a driver, and may have to build its image for it: how long that
 * takes nobody knows before. Nothing where no driver is to come.
 */
export function* waitAfterDriver(facts: Facts, host: HostSpec, config: ManagerConfig): Iterable<Shape> {
  if (facts.gpus.length === 0 || !host.driver.install || driverIsWanted(facts, host)) return;
  yield {
    known: false,
    step: 'manager',
    title: 'wait for the agent image',
    until: 'driver',
    disturbs: 'nothing',
    waits: true,
    marker: 'change',
    details: newBase(facts, host, config),
  };
}

/** The base that the manager will choose, as far as its last look at the GPUs tells. */
function newBase(facts: Facts, { driver }: HostSpec, { image }: ManagerConfig): readonly Detail[] {
  const health = facts.manager.status?.health;
  if (image.kind !== 'build' || image.base !== undefined || health === undefined) return [];
  const gpus = {
    arch: facts.arch,
    capabilities: (health.gpus ?? []).flatMap((gpu) => gpu.computeCapability ?? []),
    cpuOnly: false,
  };
  const from = baseOf({ ...gpus, cudaMax: health.cudaVersion });
  const to = baseOf({ ...gpus, cudaMax: cudaOfDriver(driver.version ?? driver.branch) });
  const effect = 'the image is rebuilt; all slots move to it, running jobs finish first';
  return from === undefined || to === undefined ? [] : details(item('base of the image', from, to, effect));
}

function baseOf(gpus: HostGpus): string | undefined {
  const choice = chooseBase(gpus);
  return choice.ok ? choice.tag : undefined;
}
