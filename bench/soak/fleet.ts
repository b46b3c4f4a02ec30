import { startAzure } from '../../practice/lab/azure.ts';
import { writeInventory } from '../../practice/lab/inventory.ts';
import { startLab } from '../../practice/lab/lab.ts';
import { release } from '../../test/lab/support/release.ts';
import type { SoakFleet } from './model.ts';

/** Twenty times as fast: 15 minutes of the server are 45 seconds. */
export const speed = 20;
const pool = 'gpu-soak';
const hostPool = 'gpu-soak-host';
/** Two images, their layers and four containers need less than half of it. Docker holds each container to its share. */
const disk = { mib: 8_000, type: 'btrfs' } as const;

/**
 * Three machines with four agents each, and one with two in host mode, provisioned by `cli`: the current build of this
 * checkout.
 */
export async function soakFleet(): Promise<Required<SoakFleet>> {
  const lab = await startLab({
    prefix: 'soak',
    hosts: [
      { name: 'a', release: 'bookworm', login: 'root', gpus: ['h200', 'h200', 'h200', 'h200'], disk },
      { name: 'b', release: 'bookworm', login: 'sudo', gpus: ['l40s', 'l40s'], disk },
      { name: 'c', release: 'trixie', login: 'sudo-password', gpus: ['h200'], disk },
      { name: 'd', release: 'bookworm', login: 'root', gpus: ['h200', 'h200'], disk },
    ],
  });
  // Newer ones take overlay2 by themselves, which knows no sizes there.
  await Promise.all(
    lab.hosts.map((host) =>
      host.exec(`mkdir -p /etc/docker && echo '{ "storage-driver": "btrfs" }' >/etc/docker/daemon.json`),
    ),
  );
  const azure = await startAzure(lab.prefix, lab.folder, { speed });
  const inventory = await writeInventory(lab, azure, {
    pool,
    defaults: { agents: 4, share: true, limits: { pids: 512 } },
    hosts: {
      ...Object.fromEntries(['a', 'b', 'c'].map((name) => [name, { limits: { disk: '1g' } }])),
      d: { pool: hostPool, agents: [0, 1].map((gpu) => ({ gpus: [gpu], mode: 'host' })) },
    },
  });
  const cli = release(lab.folder, 'first');
  await cli(['provision', inventory, '--yes', '--no-probe']);
  return { lab, azure, inventory, pool, hostPool, cli };
}
