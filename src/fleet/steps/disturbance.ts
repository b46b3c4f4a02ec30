import type { Facts } from '../facts/facts.ts';
import type { Disturbs } from './change.ts';
import { atLeast } from './docker/daemon-json.ts';

/** Returns what a restart of dockerd disturbs. A host without an engine has live-restore before its first restart. */
export function restartDisturbs(facts: Facts): Disturbs {
  return facts.docker.active && !facts.docker.liveRestore ? 'containers' : 'new-containers';
}

/**
 * Returns what systemd's daemon-reload disturbs; most package installations run it. Where systemd manages the cgroups,
 * containers that got their GPUs from the hook lose them. From Docker 29.2 on `--gpus` uses CDI, and they keep them.
 */
export function reloadDisturbs(facts: Facts): Disturbs {
  const { active, cgroupDriver, serverVersion } = facts.docker;
  const gpusInContainers =
    active &&
    facts.driver.loaded !== undefined &&
    (facts.toolkit.version !== undefined || facts.toolkit.unpackaged);
  const byHook = serverVersion === undefined || !atLeast(serverVersion, 29, 2);
  return gpusInContainers && cgroupDriver === 'systemd' && byHook ? 'containers' : 'nothing';
}

/**
 * Returns what a change of the driver or the engine disturbs: on the node of an orchestrator at least its work, which may use both
 * without any container of Docker.
 */
export function disturbsNode({ orchestrators }: Pick<Facts, 'orchestrators'>, disturbs: Disturbs): Disturbs {
  return orchestrators.length > 0 && atMost(disturbs, 'containers') ? 'containers' : disturbs;
}

const order: readonly Disturbs[] = ['nothing', 'new-containers', 'agents', 'containers', 'gpus', 'machine'];

/** Tells whether `disturbs` is no worse than `bound`. */
export function atMost(disturbs: Disturbs, bound: Disturbs): boolean {
  return order.indexOf(disturbs) <= order.indexOf(bound);
}
