import { FleetError } from '../../../shared/base/errors.ts';
import { completed, nearest } from '../../../shared/base/nearest.ts';
import { organizationUrl } from '../../../shared/azure/url.ts';
import { everyHost } from '../select.ts';
import type { Finding } from './host.ts';
import { groupsOf, parseVolume } from '../resolve/merge.ts';
import type { InventoryFile } from '../schema/file.ts';
import type { HostVars } from '../schema/host.ts';

/** Mistakes across the keys of the file itself, the groups left out. */
export function checkFile(file: InventoryFile): Finding[] {
  return [
    ...checkOrganization(file.organization),
    ...checkCredential(file),
    ...checkVolumes(file),
    ...checkEveryHost(file),
    ...(Object.keys(file.hosts).length === 0
      ? [
          {
            code: 'inventory.no-hosts' as const,
            path: ['hosts'],
            what: 'there is no host',
            next: 'add one under `hosts:`',
          },
        ]
      : []),
  ];
}

function checkOrganization(url: string): Finding[] {
  try {
    organizationUrl(url);
    return [];
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    const { code, what, expected, seen, next } = error.problem;
    const rest = { ...(expected ? { expected } : {}), ...(seen ? { seen } : {}), ...(next ? { next } : {}) };
    return [{ code, path: ['organization'], what, ...rest }];
  }
}

function checkCredential(file: InventoryFile): Finding[] {
  if (file.token && file.servicePrincipal)
    return [
      {
        code: 'inventory.credential',
        path: ['servicePrincipal'],
        what: 'token and servicePrincipal are both given',
        expected: 'one of them',
        next: 'take one of them out',
      },
    ];
  if (file.token || file.servicePrincipal) return [];
  return [
    {
      code: 'inventory.missing',
      path: [],
      what: 'token is missing',
      expected: 'where the token is found, never the token itself',
      next: 'add `token: { env: AZP_TOKEN }`',
    },
  ];
}

/** `--limit all` is every host, and could not mean one or some of them too. */
function checkEveryHost({ hosts, groups = {} }: InventoryFile): Finding[] {
  const code = 'inventory.key';
  const isHost = Object.hasOwn(hosts, everyHost);
  const isPart =
    Object.hasOwn(groups, everyHost) &&
    !Object.keys(hosts).every((host) => groupsOf(host, groups).includes(everyHost));
  return [
    ...(isHost
      ? [
          {
            code,
            path: ['hosts', everyHost],
            what: `${everyHost} stands for every host, and cannot be the name of one`,
            next: 'give it another name',
          } as const,
        ]
      : []),
    ...(isPart
      ? [
          {
            code,
            path: ['groups', everyHost],
            what: `${everyHost} stands for every host, and this group does not have all of them`,
            next: 'give it another name, or put every host into it',
          } as const,
        ]
      : []),
  ];
}

/** Groups that name what is not there, contain each other, or are called like a host. */
export function checkGroups(file: InventoryFile): Finding[] {
  const groups = file.groups ?? {};
  const known = Object.keys(groups);
  const hosts = Object.keys(file.hosts);
  return known.flatMap((name): Finding[] => {
    const found: Finding[] = [];
    if (hosts.includes(name))
      found.push({
        code: 'inventory.name-twice',
        path: ['groups', name],
        what: `${name} is a group and a host`,
        next: 'rename one of them: --limit could not tell them apart',
      });
    for (const [index, host] of (groups[name]?.hosts ?? []).entries())
      if (!Object.hasOwn(file.hosts, host))
        found.push({
          code: 'inventory.unknown-host',
          path: ['groups', name, 'hosts', index],
          what: `there is no host ${host}`,
          next: suggestion(host, hosts) ?? `add \`${host}: {}\` under \`hosts:\``,
        });
    for (const [index, child] of (groups[name]?.children ?? []).entries())
      if (!Object.hasOwn(groups, child))
        found.push({
          code: 'inventory.unknown-group',
          path: ['groups', name, 'children', index],
          what: `there is no group ${child}`,
          next: suggestion(child, known) ?? `add it under \`groups:\``,
        });
      else if (reaches(child, name, file, []))
        found.push({
          code: 'inventory.group-cycle',
          path: ['groups', name, 'children', index],
          what: `${name} and ${child} contain each other`,
          next: 'take one of them out of the other',
        });
    return found;
  });
}

function reaches(from: string, to: string, file: InventoryFile, seen: readonly string[]): boolean {
  if (from === to) return true;
  if (seen.includes(from)) return false;
  return (file.groups?.[from]?.children ?? []).some((child) => reaches(child, to, file, [...seen, from]));
}

function suggestion(word: string, known: readonly string[]): string | undefined {
  const near = nearest(word, known) ?? completed(word, known);
  return near === undefined ? undefined : `did you mean "${near}"?`;
}

/** One variable cannot stand for two folders in the same place of the file. */
function checkVolumes(file: InventoryFile): Finding[] {
  const places: [(string | number)[], HostVars | null | undefined][] = [
    [['defaults'], file.defaults],
    ...Object.entries(file.groups ?? {}).map(([name, group]): [string[], HostVars | undefined] => [
      ['groups', name, 'vars'],
      group.vars,
    ]),
    ...Object.entries(file.hosts).map(([name, host]): [string[], HostVars | null] => [['hosts', name], host]),
  ];
  return places.flatMap(([path, vars]) => {
    const seen = new Set(Object.keys(vars?.datasets ?? {}));
    return (vars?.volumes ?? []).flatMap((volume, index): Finding[] => {
      const { name } = parseVolume(volume);
      const twice = seen.has(name);
      seen.add(name);
      return twice
        ? [
            {
              code: 'inventory.dataset-twice',
              path: [...path, 'volumes', index],
              what: `${name} is used for two folders`,
              next: 'give each folder a variable of its own',
            },
          ]
        : [];
    });
  });
}
