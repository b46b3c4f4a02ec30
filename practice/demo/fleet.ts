import { copyFileSync, chmodSync } from 'node:fs';
import { join } from 'node:path';

import { type LabAzure, startAzure } from '../lab/azure.ts';
import type { HostOptions } from '../lab/host.ts';
import { writeInventory } from '../lab/inventory.ts';
import { type Lab, prepareLab, removeLab, startLab } from '../lab/lab.ts';
import { repository } from '../lab/paths.ts';

const prefix = 'demo';
export const folder = join(repository, 'demo-fleet');
export const inventory = join(folder, 'inventory.yaml');
export const pool = 'gpu-demo';

/** One of each: an old and a new Debian, a root login and a sudo user, one GPU and two. */
export const machines: readonly (HostOptions & { readonly about: string })[] = [
  {
    name: 'h200-1',
    release: 'bookworm',
    login: 'root',
    gpus: ['h200', 'h200'],
    about: 'Debian 12, root login, 2 GPUs',
  },
  {
    name: 'l40s-1',
    release: 'bookworm',
    login: 'sudo',
    gpus: ['l40s'],
    about: 'Debian 12, sudo user, 1 GPU',
  },
  {
    name: 'h200-2',
    release: 'trixie',
    login: 'sudo',
    gpus: ['h200'],
    about: 'Debian 13, sudo user, 1 GPU (CDI)',
  },
];

/** Starts the machines and their Azure DevOps, and writes an inventory that refers to files beside it. */
export async function startFleet(fresh: boolean): Promise<{ readonly lab: Lab; readonly azure: LabAzure }> {
  await prepareLab();
  if (fresh) await removeLab(prefix, folder);
  const lab = await startLab({ prefix, hosts: machines, folder });
  const azure = await startAzure(prefix, folder);
  copyFileSync(lab.key, join(folder, 'id_ed25519'));
  chmodSync(join(folder, 'id_ed25519'), 0o600);
  await writeInventory(lab, azure, {
    pool,
    file: inventory,
    defaults: { identityFile: 'id_ed25519' },
    top: { token: { file: 'token' } },
  });
  return { lab, azure };
}
