import type { Facts } from '../../facts/facts.ts';
import type { Platform } from '../../packages/distribution.ts';
import type { Desired } from '../step.ts';
import { parseDaemonJson } from './daemon-json.ts';
import { atLeast } from './release.ts';

/** Why Docker Engine cannot be brought in order here, if it cannot. */
export function dockerRefusal(
  { packages: manager, names }: Platform,
  facts: Facts,
  { host, proxy }: Pick<Desired, 'host' | 'proxy'>,
): { readonly what: string; readonly next: string } | undefined {
  const { docker, packages } = facts;
  const { version } = host.docker;
  // docs.docker.com/engine/daemon/proxy: daemon.json knows proxies from 23.0 on; an older dockerd does not start with them.
  if ((proxy.http !== undefined || proxy.https !== undefined) && !atLeast(version, 23, 0)) {
    return {
      what: `Docker ${version} takes no proxy from its daemon.json, and the inventory has a proxy`,
      next: 'set docker.version to 23.0 or newer, e.g. by leaving it out',
    };
  }
  if (docker.snap) {
    return {
      what: 'Docker is installed as a snap, which cannot give GPUs to containers',
      next: 'sudo snap remove --purge docker (its containers and images go with it), then run again',
    };
  }
  const engine = packages['docker-ce'] ?? packages[names.engine.own];
  if (docker.podman && engine === undefined) {
    const there = ['podman', 'podman-docker'].filter((name) => packages[name] !== undefined);
    return {
      what: 'this is a Podman host; Docker Engine beside it would take over its containers’ network and commands',
      next: `${manager.removal(there)} when nothing here needs it, or leave this host out`,
    };
  }
  const shared = names.engine.conflicts.filter((name) => packages[name] !== undefined);
  if (packages['kubelet'] !== undefined && shared.length > 0) {
    return {
      what: `this is a Kubernetes node, and ${shared.join(', ')} would have to be removed from under it`,
      next: 'leave this host out, or take it out of its cluster first',
    };
  }
  if (parseDaemonJson(docker.daemonJson) === undefined) {
    return {
      what: '/etc/docker/daemon.json is not a JSON object',
      next: 'correct it by hand (python3 -m json.tool /etc/docker/daemon.json shows where), then run again',
    };
  }
  if (docker.active && docker.serverVersion === undefined) {
    return {
      what: 'dockerd runs and does not answer on its socket',
      next: 'look at journalctl -u docker.service; sudo systemctl restart docker helps when nothing runs in it',
    };
  }
  return undefined;
}
