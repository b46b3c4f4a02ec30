import type { Facts } from '../facts/facts.ts';
import type { Disturbs } from './change.ts';
import { atLeast } from './docker/daemon-json.ts';

/** Restarting dockerd. A host without an engine yet will have live-restore by the time that it is restarted. */
export function restartDisturbs(facts: Facts): Disturbs {
  return facts.docker.active && !facts.docker.liveRestore ? 'containers' : 'new-containers';
}

/**
 * systemd's daemon-reload, which most package installations run. Containers that got their GPUs from the hook lose
 * them then, where systemd manages the cgroups; from Docker 29.2 on `--gpus` goes through CDI and they keep them.
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
