import { type LabAzure, startAzure } from './azure.ts';
import { azpFleet } from './azp-fleet.ts';
import type { HostOptions } from './host.ts';
import { writeInventory } from './inventory.ts';
import { type Lab, removeLab, startLab } from './lab.ts';

/** Test files that run side by side have hosts of their own: Vitest numbers its workers from 1. */
const prefix = `shared${process.env['VITEST_POOL_ID'] ?? '1'}`;

/** Hook path as root, hook path with sudo, CDI with a sudo password. */
const hosts: readonly HostOptions[] = [
  { name: 'hook', release: 'bookworm', login: 'root', gpus: ['h200', 'h200'] },
  { name: 'plain', release: 'bookworm', login: 'sudo', gpus: ['l40s'] },
  { name: 'cdi', release: 'trixie', login: 'sudo-password', gpus: ['h200'] },
];

export interface ProvisionedFleet {
  readonly lab: Lab;
  readonly azure: LabAzure;
  readonly inventory: string;
}

/** The same three machines, bare: what an earlier file left of them is removed. */
export async function bareFleet(): Promise<ProvisionedFleet> {
  await removeLab(prefix);
  return start();
}

/**
 * Three provisioned machines that the files of one test worker share: the first file waits a minute, the next ones find
 * them converged. A test leaves them as it found them: converged, no fault, nothing drained.
 */
export async function provisionedFleet(): Promise<ProvisionedFleet> {
  const fleet = await start();
  const { lab, inventory } = fleet;
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  if (code !== 0)
    throw new Error(`the shared fleet could not be provisioned (exit ${code}):\n${stdout}\n${stderr}`);
  return fleet;
}

async function start(): Promise<ProvisionedFleet> {
  const lab = await startLab({ prefix, hosts });
  const azure = await startAzure(prefix, lab.folder);
  return { lab, azure, inventory: await writeInventory(lab, azure) };
}
