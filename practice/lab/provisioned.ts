import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';

import { type LabAzure, startAzure } from './azure.ts';
import { azpFleet } from './azp-fleet.ts';
import type { HostRelease } from './dressed.ts';
import type { HostOptions, LabHost, Snapshot } from './host.ts';
import { ensureHostImage } from './images.ts';
import { writeInventory } from './inventory.ts';
import { type Lab, prepareLab, removeLab, startLab } from './lab.ts';
import { withLock } from './lock.ts';
import { inState } from './paths.ts';
import { repositoriesDigest } from './repositories.ts';
import { say } from './say.ts';
import { hasImage } from './base-images.ts';
import { digest } from './digest.ts';

/** Test files that run side by side have separate hosts: Vitest numbers its workers from 1. */
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

/** The same three machines, bare: removes what an earlier file left. */
export async function bareFleet(): Promise<ProvisionedFleet> {
  await removeLab(prefix);
  return start(true);
}

/**
 * Three provisioned machines that the files of one test worker share: the first file waits a minute, the next ones find
 * them converged. A test leaves them as it found them: converged, no fault, nothing drained.
 */
export async function provisionedFleet(): Promise<ProvisionedFleet> {
  const fleet = await start(false);
  const { lab, inventory } = fleet;
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  if (code === 0) return fleet;
  const seen = await Promise.all(lab.hosts.map(evidence));
  throw new Error(
    `the shared fleet could not be provisioned (exit ${code}):\n${stdout}\n${stderr}\n${seen.join('\n')}`,
  );
}

/** What Docker and the manager of a host say: the host is gone when the error is read. */
async function evidence(host: LabHost): Promise<string> {
  const { stdout, stderr } = await host.exec(
    `docker ps --all --no-trunc; docker inspect --format '{{.Name}} {{json .State}} {{json .Config.Labels}}' $(docker ps -aq)
     journalctl --unit azp-fleet-manager --no-pager --lines 60`,
    { allowFailure: true },
  );
  return `${host.name}:\n${stdout}${stderr}`;
}

async function start(isBare: boolean): Promise<ProvisionedFleet> {
  const lab = await (isBare ? startLab({ prefix, hosts }) : startStackLab({ prefix, hosts }));
  const azure = await startAzure(prefix, lab.folder);
  return { lab, azure, inventory: await writeInventory(lab, azure) };
}

/**
 * Starts hosts that have driver, Docker Engine and NVIDIA Container Toolkit as an earlier provision left them, and no agent
 * or manager. Each release is provisioned once; the hosts begin with a snapshot of that.
 */
export async function startStackLab({
  prefix,
  hosts,
}: {
  readonly prefix: string;
  readonly hosts: readonly HostOptions[];
}): Promise<Lab> {
  await prepareLab();
  const needed = new Set(hosts.map(({ release = 'bookworm' }) => release));
  const snapshots = new Map(
    await Promise.all([...needed].map(async (each) => [each, await ensureSnapshot(each)] as const)),
  );
  const restored = hosts.map((host) => {
    const snapshot = snapshots.get(host.release ?? 'bookworm');
    return snapshot === undefined ? host : { ...host, snapshot };
  });
  return startLab({ prefix, hosts: restored });
}

/** Takes the snapshot of a release, unless there is one of the same image and the same packages. */
function ensureSnapshot(release: HostRelease): Promise<Snapshot> {
  return withLock(`snapshot-${release}`, async () => {
    const key = digest(await ensureHostImage(release), repositoriesDigest());
    const image = `azp-fleet-lab/stack-${release}:${key}`;
    const folder = inState('snapshots', `${release}-${key}`);
    if (existsSync(folder) && (await hasImage(image))) return { image, docker: folder };
    say(`provisioning ${release} once, for a snapshot`);
    await takeSnapshot(release, image, folder);
    say(`took the snapshot of ${release}`);
    return { image, docker: folder };
  });
}

async function takeSnapshot(release: HostRelease, image: string, folder: string): Promise<void> {
  const name = `snapshot-${release}`;
  await removeLab(name);
  const lab = await startLab({ prefix: name, hosts: [{ name: 'stack', release }] });
  const azure = await startAzure(name, lab.folder);
  const inventory = await writeInventory(lab, azure);
  for (const args of [
    ['provision', '-i', inventory, '--yes'],
    ['remove', 'stack', '-i', inventory, '--yes'],
  ]) {
    const { code, stdout, stderr } = await azpFleet(lab.folder, args);
    if (code !== 0) throw new Error(`azp-fleet ${args.join(' ')} exited ${code}:\n${stdout}\n${stderr}`);
  }
  mkdirSync(inState('snapshots'), { recursive: true, mode: 0o700 });
  for (const old of readdirSync(inState('snapshots')).filter((each) => each.startsWith(`${release}-`)))
    rmSync(inState('snapshots', old), { recursive: true });
  const [host] = lab.hosts;
  await host?.snapshot(image, `${folder}.part`);
  renameSync(`${folder}.part`, folder);
  await azure.stop();
  await lab.remove();
}
