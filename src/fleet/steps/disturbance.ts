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
