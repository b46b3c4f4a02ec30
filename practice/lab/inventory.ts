import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { stringify } from 'yaml';

import type { LabAzure } from './azure.ts';
import type { LabHost } from './host.ts';
import type { Lab } from './lab.ts';
import { toolkitVersion } from './nvidia-packages.ts';
import { mirror, registry } from './paths.ts';
import { dockerVersions } from './repositories.ts';

/** Settings over those that every lab inventory has. */
export interface InventoryChanges {
  readonly pool?: string;
  readonly projects?: readonly string[];
  /** Any keys of the file's `defaults`. */
  readonly defaults?: Readonly<Record<string, unknown>>;
  /** Any keys of a host, by its name. */
  readonly hosts?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Any top-level keys. */
  readonly top?: Readonly<Record<string, unknown>>;
  /** Instead of inventory.yaml in the lab's folder. */
  readonly file?: string;
}

/** The variable that holds the sudo password of hosts with the login `sudo-password`. */
export const sudoPasswordVariable = 'LAB_SUDO_PASSWORD';

/**
 * Writes an inventory for the lab's hosts, with mirrors, versions and host keys right for each; returns its path. Their
 * managers will keep time with the practice server.
 */
export async function writeInventory(
  lab: Lab,
  azure: LabAzure,
  changes: InventoryChanges = {},
): Promise<string> {
  const hosts: Record<string, unknown> = {};
  for (const host of lab.hosts) {
    hosts[host.name] = { ...(await hostEntry(host)), ...changes.hosts?.[host.name] };
    await host.practiseAt(azure.speed);
  }
  const content = {
    organization: azure.organization,
    token: { file: azure.tokenFile },
    projects: changes.projects ?? ['vision'],
    defaults: {
      pool: changes.pool ?? 'gpu-lab',
      identityFile: lab.key,
      agents: 'one-per-gpu',
      driver: { branch: '580' },
      toolkit: { version: toolkitVersion },
      agent: { version: azure.agent.version, sha256: { x64: azure.agent.sha256 } },
      ...changes.defaults,
    },
    hosts,
    mirrors: {
      nvidiaDriver: `${mirror}/nvidia`,
      docker: `${mirror}/docker`,
      toolkit: `${mirror}/toolkit`,
      agent: azure.agent.mirror,
      images: registry,
    },
    ...changes.top,
  };
  const file = changes.file ?? join(lab.folder, 'inventory.yaml');
  writeFileSync(file, stringify(content, { lineWidth: 0 }));
  return file;
}

async function hostEntry(host: LabHost): Promise<Record<string, unknown>> {
  const keys = (await host.hostKeys()).trim().split('\n');
  const key = keys.find((line) => line.includes(' ssh-ed25519 ')) ?? '';
  return {
    address: host.address,
    user: host.user,
    hostKeys: [key.slice(key.indexOf(' ') + 1)],
    docker: { version: dockerVersions()[host.release] },
    ...(host.login === 'sudo-password' ? { sudoPassword: { env: sudoPasswordVariable } } : {}),
  };
}
