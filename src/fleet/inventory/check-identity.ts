import { isHostedService } from '../../shared/azure/url.ts';
import type { Finding } from './finding.ts';
import type { HostSpec } from './fleet.ts';
import type { InventoryFile } from './schema/file.ts';

/** Returns settings that do not work with the way in which the managers log in. */
export function checkIdentity(file: InventoryFile, hosts: readonly HostSpec[]): Finding[] {
  const way = wayOf(file);
  if (way === undefined) return [];
  const { managedIdentity } = file;
  return [
    ...checkServer(file, way),
    ...hosts.flatMap((host) => [
      ...checkRegistration(host, way),
      ...(managedIdentity ? checkWhoMayAsk(host, managedIdentity.arc === true) : []),
    ]),
  ];
}

interface Way {
  /** Path of the key. */
  readonly path: readonly string[];
  readonly key: string;
}

/** Returns the key of a login that needs Microsoft Entra ID and only gives tokens; undefined: another login. */
function wayOf(file: InventoryFile): Way | undefined {
  const path = ['servicePrincipal', 'certificate'];
  const own = ownIdentity(file);
  if (own !== undefined || file.servicePrincipal?.certificate === undefined) return own;
  return { path, key: path.join('.') };
}

/** Returns the key by which the managers log in without a stored secret. */
export function ownIdentity({ servicePrincipal, managedIdentity }: InventoryFile): Way | undefined {
  if (managedIdentity) return { path: ['managedIdentity'], key: 'managedIdentity' };
  const path = ['servicePrincipal', 'federation'];
  return servicePrincipal?.federation === undefined ? undefined : { path, key: path.join('.') };
}

/** Azure DevOps Server knows no tokens of Microsoft Entra ID. The practice server is both, at one address. */
function checkServer({ organization, servicePrincipal }: InventoryFile, { path, key }: Way): Finding[] {
  if (!URL.canParse(organization) || isHostedService(organization)) return [];
  const { authority = '' } = servicePrincipal ?? {};
  if (URL.canParse(authority) && new URL(authority).origin === new URL(organization).origin) return [];
  return [
    {
      code: 'inventory.identity',
      path,
      what: `${key} does not work with Azure DevOps Server, which does not accept tokens of Microsoft Entra ID`,
      expected: 'an organization of Azure DevOps Services',
      seen: organization,
      next: 'use `token:` for an Azure DevOps Server collection',
    },
  ];
}

/** The agent's own config.sh logs in with a token or a client secret only. */
function checkRegistration({ name, registration }: HostSpec, { key }: Way): Finding[] {
  if (registration !== 'config') return [];
  return [
    {
      code: 'inventory.identity',
      path: ['hosts', name, 'registration'],
      host: name,
      what: `{host} has registration: config, which does not support ${key}`,
      next: 'use `registration: rest`, or a token or a client secret',
    },
  ];
}

/** Refuses what lets a job ask for the identity of its machine: there is no secret that it would need. */
function checkWhoMayAsk({ name, fence, jobs, agents }: HostSpec, arc: boolean): Finding[] {
  const slots = agents.kind === 'slots' ? agents.slots : [];
  const index = slots.findIndex(({ mode }) => mode === 'host');
  const found: readonly (readonly [isSo: boolean, path: readonly (string | number)[], what: string])[] = [
    [jobs.docker, ['jobs', 'docker'], 'jobs.docker'],
    [jobs.sudo, ['jobs', 'sudo'], 'jobs.sudo'],
    [fence !== 'required', ['network'], 'network: best-effort'],
    [
      arc && index >= 0,
      ['agents', index, 'mode'],
      "mode: host, whose jobs reach the port of Azure Arc's agent",
    ],
  ];
  return found.flatMap(([isSo, path, what]): Finding[] =>
    isSo
      ? [
          {
            code: 'inventory.identity',
            path: ['hosts', name, ...path],
            host: name,
            what: `{host} has ${what}: with managedIdentity its jobs could log in as the machine`,
            next: 'remove it, or use another way to log in for these hosts',
          },
        ]
      : [],
  );
}
