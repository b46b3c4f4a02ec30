import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { cudaBase, ensureBase } from './base-images.ts';
import { docker, ensureEngine } from './engine.ts';
import { type HostOptions, LabHost, type Place, removeSmallDisks, startHost } from './host.ts';
import { ensureHostImage, ensureRegistryImages } from './images.ts';
import { withLock } from './lock.ts';
import { inState, releases } from './paths.ts';
import { ensureRepositories } from './repositories.ts';
import { run } from './run.ts';
import { agentMirror, azureService, ensureService, labServices, stopService } from './services.ts';
import { ensureCertificates } from './tls.ts';

export interface Lab {
  readonly prefix: string;
  /** A folder of this lab's own, for inventories, logs and the like. */
  readonly folder: string;
  /** Private key that logs in everywhere. */
  readonly key: string;
  readonly knownHosts: string;
  readonly hosts: readonly LabHost[];
  host(name: string): LabHost;
  /** Removes the hosts and the folder. */
  remove(): Promise<void>;
}

/** Set by a run of the lab tests, to the id of its process. */
export const testRunVariable = 'AZP_FLEET_LAB_RUN';

/** In the folder of a lab that such a run started and will remove. */
const testRunFile = 'of-a-test-run';

export const isOfTestRun = (folder: string): boolean => existsSync(join(folder, testRunFile));

/** Starts machines with a prefix, so that labs do not share hosts; finds existing ones again. */
export async function startLab({
  prefix,
  hosts,
  folder = inState('labs', prefix),
}: {
  readonly prefix: string;
  readonly hosts: readonly HostOptions[];
  readonly folder?: string;
}): Promise<Lab> {
  await prepareLab();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (process.env[testRunVariable] !== undefined) writeFileSync(join(folder, testRunFile), '');
  const key = await ensureKey();
  const place: Place = {
    prefix,
    key,
    publicKey: readFileSync(`${key}.pub`, 'utf8').trim(),
    knownHosts: `${folder}/known_hosts`,
  };
  const started = await Promise.all(hosts.map((options) => startHost(place, options)));
  const keys = await Promise.all(started.map((host) => host.hostKeys()));
  writeFileSync(place.knownHosts, keys.join(''));
  return {
    prefix,
    folder,
    key,
    knownHosts: place.knownHosts,
    hosts: started,
    host: (name) => {
      const found = started.find((host) => host.name === name);
      if (found === undefined) throw new Error(`this lab has no host ${name}`);
      return found;
    },
    remove: async () => {
      await Promise.all([...started.map((host) => host.remove()), stopService(azureService(prefix))]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Removes whatever an earlier run left under a prefix: hosts, practice server, folder. */
export async function removeLab(prefix: string, folder = inState('labs', prefix)): Promise<void> {
  // A stopped engine keeps its containers: they would come back, provisioned, as a new lab's bare machines.
  if (existsSync(inState('docker'))) {
    await ensureEngine();
    const { stdout } = await docker(['ps', '-a', '--filter', `name=^${prefix}-`, '--format', '{{.Names}}']);
    const names = stdout.split('\n').filter(Boolean);
    if (names.length > 0) await docker(['rm', '-fv', ...names]);
    // By their own names: a run that was killed may have removed their containers.
    const { stdout: left } = await docker(['volume', 'ls', '--quiet', '--filter', `name=^${prefix}-`]);
    const volumes = left.split('\n').filter(Boolean);
    if (volumes.length > 0) await docker(['volume', 'rm', '-f', ...volumes], { allowFailure: true });
  }
  await removeSmallDisks(prefix);
  await stopService(azureService(prefix));
  rmSync(folder, { recursive: true, force: true });
}

function ensureKey(): Promise<string> {
  const key = inState('ssh/id_ed25519');
  return withLock('key', async () => {
    if (!existsSync(key)) {
      mkdirSync(inState('ssh'), { recursive: true, mode: 0o700 });
      await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'azp-fleet-lab', '-f', key]);
    }
    return key;
  });
}

/** Prepares what hosts need: engine, images, repositories, mirror and registry. Fast when all exist. */
export async function prepareLab(): Promise<void> {
  await ensureEngine();
  await withLock('prepare', async () => {
    mkdirSync(agentMirror, { recursive: true });
    await ensureCertificates();
    await Promise.all([ensureRepositories(), ...releases.map(ensureHostImage), ensureBase(cudaBase)]);
    for (const service of labServices()) await ensureService(service);
    await ensureRegistryImages();
  });
}
