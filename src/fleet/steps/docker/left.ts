import type { Facts } from '../../facts/facts.ts';

/** Why agents cannot use the engine that the inventory leaves to its owner (`docker: none`), if they cannot. */
export function leftEngineObstacle({
  docker,
}: Pick<Facts, 'docker'>): { readonly what: string; readonly next: string } | undefined {
  if (docker.snap) {
    return {
      what: 'Docker is installed as a snap, which cannot give GPUs to containers',
      next: 'replace it by hand, or remove "docker: none" from the inventory and the snap from the host',
    };
  }
  if (!docker.active) {
    return {
      what: 'the inventory leaves Docker Engine alone, and none runs',
      next: 'install one by hand and start it (sudo systemctl enable --now docker), or remove "docker: none" from the inventory',
    };
  }
  if (docker.serverVersion === undefined) {
    return {
      what: 'dockerd runs and does not answer on its socket',
      next: 'look at journalctl -u docker.service; sudo systemctl restart docker helps when nothing runs in it',
    };
  }
  return undefined;
}
