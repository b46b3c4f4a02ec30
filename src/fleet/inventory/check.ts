import { organizationUrl } from '../../shared/azure/url.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { completed, nearest } from '../../shared/base/nearest.ts';
import { agentSha256 } from '../../shared/contract/agent-release.ts';
import { agentName, poolOfSlot, poolsOf, slotNames, type SlotSpec } from '../../shared/contract/slots.ts';
import { checkIdentity, ownIdentity } from './check-identity.ts';
import type { Finding } from './finding.ts';
import type { Path } from './document/document.ts';
import type { HostSpec, Mirrors } from './fleet.ts';
import { foldNames } from './fold-names.ts';
import { hasStrayBrace, isPlaceholder, placeholders, placeholdersIn } from './pool-pattern.ts';
import type { Remainder } from './remainder.ts';
import { groupsOf, parseVolume } from './resolve.ts';
import type { InventoryFile } from './schema/file.ts';
import type { HostVars } from './schema/host.ts';
import { everyHost } from './select.ts';

/**
 * Returns mistakes that only show when several keys are compared. A host is checked only if its groups and the defaults
 * are valid: a mistake there would be reported again for each of its hosts.
 */
export function crossFindings(
  { file, lost }: Remainder,
  hosts: readonly HostSpec[],
  mirrors: Mirrors,
): Finding[] {
  const groups = checkGroups(file);
  const found = [...checkFile(file), ...groups];
  if (groups.length > 0 || lost.has('defaults') || lost.has('groups')) return found;
  const sound = hosts.filter(
    (host) => !lost.has(`hosts/${host.name}`) && !host.groups.some((group) => lost.has(`groups/${group}`)),
  );
  return [
    ...found,
    ...sound.flatMap(checkHost),
    ...checkDockerfiles(sound, hosts),
    ...sound.flatMap(checkPools),
    ...checkAddresses(sound),
    ...checkAgentNames(sound),
    ...checkIdentity(file, sound),
    ...checkAgentDigest(sound, mirrors),
  ];
}

/** Returns mistakes across the keys of the file itself, without the groups. */
function checkFile(file: InventoryFile): Finding[] {
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
            what: 'the inventory has no hosts',
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

/** Prints a token of the user who is logged in to Azure, for Azure DevOps; it is valid for an hour. */
const tokenCommand =
  'az account get-access-token --resource 499b84ac-1321-427f-aa17-267ca6975798 --query accessToken -o tsv';

function checkCredential(file: InventoryFile): Finding[] {
  const own = ownIdentity(file);
  if (file.managedIdentity && file.servicePrincipal?.federation)
    return [
      {
        code: 'inventory.credential',
        path: ['managedIdentity'],
        what: 'managedIdentity and servicePrincipal.federation are both set',
        expected: 'one of them',
        next: 'remove one of them',
      },
    ];
  const isOwnPrincipal = file.servicePrincipal?.federation !== undefined;
  if (file.token && file.servicePrincipal && !isOwnPrincipal)
    return [
      {
        code: 'inventory.credential',
        path: ['servicePrincipal'],
        what: 'token and servicePrincipal are both set',
        expected: 'one of them',
        next: 'remove one of them',
      },
    ];
  if (file.token || (file.servicePrincipal && !isOwnPrincipal)) return [];
  if (own !== undefined)
    return [
      {
        code: 'inventory.missing',
        path: own.path,
        what: `token is missing: ${own.key} is for the hosts, and this machine needs a separate credential`,
        expected: 'where the token of this machine is found; no host gets it',
        next: `add \`token: { cmd: "${tokenCommand}" }\`, or a personal access token`,
      },
    ];
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

/** Reports a host or group named `all`: `--limit all` selects every host. */
function checkEveryHost({ hosts, groups = {} }: InventoryFile): Finding[] {
  const code = 'inventory.key';
  const isHost = Object.hasOwn(hosts, everyHost);
  const isIncomplete =
    Object.hasOwn(groups, everyHost) &&
    !Object.keys(hosts).every((host) => groupsOf(host, groups).includes(everyHost));
  return [
    ...(isHost
      ? [
          {
            code,
            path: ['hosts', everyHost],
            what: `${everyHost} means every host and cannot be the name of a host`,
            next: 'rename the host',
          } as const,
        ]
      : []),
    ...(isIncomplete
      ? [
          {
            code,
            path: ['groups', everyHost],
            what: `${everyHost} means every host, but this group does not have all of them`,
            next: 'rename the group, or add every host to it',
          } as const,
        ]
      : []),
  ];
}

/** Reports groups with unknown members, groups that contain each other, and groups named like a host. */
function checkGroups(file: InventoryFile): Finding[] {
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
        next: 'rename one of them: --limit cannot distinguish them',
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
          next: 'remove one of them from the other',
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

/** Reports a variable that is used for two folders in the same section of the file. */
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
              next: 'use a different variable for each folder',
            },
          ]
        : [];
    });
  });
}

/** Returns the mistakes of one host, with groups and defaults applied. */
function checkHost(host: HostSpec): Finding[] {
  const found: Finding[] = [];
  if (poolsOf(host).includes(''))
    found.push({
      code: 'inventory.no-pool',
      path: ['hosts', host.name],
      what: '{host} has no pool',
      expected: 'a pool in defaults, in one of its groups or on the host',
      next: 'add `pool: NAME` under `defaults:`',
    });
  return [...found, ...checkGpus(host), ...checkDatasets(host)].map((each) => ({
    ...each,
    host: host.name,
  }));
}

function checkGpus(host: HostSpec): Finding[] {
  const path: Path = ['hosts', host.name, 'agents'];
  const { agents, gpus, share } = host;
  if (agents.kind === 'count' && gpus !== undefined && gpus > 0 && agents.count > gpus && !share)
    return [
      {
        code: 'inventory.agents-share',
        path,
        what: '{host} has more agents than GPUs',
        expected: `at most ${gpus} agents, or share: true`,
        seen: `agents: ${agents.count}, gpus: ${gpus}`,
        next: 'add `share: true` if jobs may share a GPU',
      },
    ];
  return agents.kind === 'slots' ? checkSlots(host, agents.slots, path) : [];
}

function checkSlots(host: HostSpec, slots: readonly SlotSpec[], path: Path): Finding[] {
  const found: Finding[] = [];
  const users = new Map<string | number, { readonly name: string; readonly share: boolean }>();
  const names = new Set<string>();
  for (const [index, slot] of slots.entries()) {
    const name = slot.name ?? String(index);
    if (names.has(name))
      found.push({
        code: 'inventory.slot-name',
        path: [...path, index, 'name'],
        what: `{host} has two slots named ${name}`,
        next: 'give each slot a unique name',
      });
    names.add(name);
    if (slot.mode === 'host' && host.registration === 'config')
      found.push({
        code: 'inventory.host-registration',
        path: [...path, index, 'mode'],
        what: `slot ${name} of {host} has mode: host, which registration: config does not support`,
        next: 'use `registration: rest` for this host, or `mode: container` for the slot',
      });
    for (const gpu of new Set(slot.gpus)) {
      if (slot.gpus.filter((each) => each === gpu).length > 1)
        found.push({
          code: 'inventory.slot-gpu',
          path: [...path, index, 'gpus'],
          what: `slot ${name} of {host} has GPU ${gpu} twice`,
          next: 'list each GPU once',
        });
      const other = users.get(gpu);
      if (other !== undefined && !(slot.share && other.share))
        found.push({
          code: 'inventory.slot-gpu',
          path: [...path, index, 'gpus'],
          what: `slots ${other.name} and ${name} of {host} both have GPU ${gpu}`,
          next: 'add `share: true` to both if their jobs may share it',
        });
      users.set(gpu, other ?? { name, share: slot.share });
      if (typeof gpu === 'number' && host.gpus !== undefined && gpu >= host.gpus)
        found.push({
          code: 'inventory.slot-gpu',
          path: [...path, index, 'gpus'],
          what: `slot ${name} of {host} has a GPU that the host does not have`,
          expected: host.gpus === 0 ? 'no GPU' : `an index from 0 to ${host.gpus - 1}`,
          seen: String(gpu),
          next:
            host.gpus === 0
              ? 'use `gpus: []` for a slot without a GPU'
              : 'correct the index, or `gpus` of the host',
        });
    }
  }
  return found;
}

/** Variables that the agent, the container runtime or the shell in a container use. */
const reserved =
  /^(PATH|HOME|USER|SHELL|LANG|LC_.*|TERM|HOSTNAME|TMPDIR|LD_.*|SSL_CERT_FILE|GIT_SSL_CAINFO|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|NODE_EXTRA_CA_CERTS|NVIDIA_.*|CUDA_VISIBLE_DEVICES|AZP_.*|AGENT_.*|BUILD_.*|SYSTEM_.*|VSTS_.*|VSO_.*)$/;

function checkDatasets(host: HostSpec): Finding[] {
  const targets = new Map<string, string>();
  return host.datasets.flatMap((dataset): Finding[] => {
    const path: Path = ['hosts', host.name, 'datasets', dataset.name];
    const other = targets.get(dataset.container);
    targets.set(dataset.container, dataset.name);
    const found: Finding[] = [];
    if (reserved.test(dataset.name))
      found.push({
        code: 'inventory.reserved-variable',
        path,
        what: `the environment variable ${dataset.name} is reserved in agent containers`,
        next: 'choose another name for the dataset',
      });
    if (other !== undefined)
      found.push({
        code: 'inventory.dataset-path',
        path: [...path, 'container'],
        what: `the datasets ${other} and ${dataset.name} of {host} have the same path in the container`,
        seen: dataset.container,
        next: 'use a different path for each dataset',
      });
    return found;
  });
}

/** Reports hosts with the same address and jump host: they are one machine. */
function checkAddresses(hosts: readonly HostSpec[]): Finding[] {
  const owners = new Map<string, string>();
  return hosts.flatMap((host): Finding[] => {
    const { address, port = 22, jump = '' } = host.ssh;
    if (address === undefined) return [];
    const place = `${address.toLowerCase()}:${port}`;
    const key = JSON.stringify([place, jump]);
    const owner = owners.get(key);
    owners.set(key, owner ?? host.name);
    if (owner === undefined) return [];
    return [
      {
        code: 'inventory.same-address',
        path: ['hosts', host.name, 'address'],
        what: `${owner} and ${host.name} have the same address ${place}`,
        expected: 'one host for each machine: a machine runs one manager',
        next: 'remove one of the hosts; for two pools on one host set `pool` in its `agents:` list',
      },
    ];
  });
}

/** Reports agent downloads over plain http without a digest. */
function checkAgentDigest(hosts: readonly HostSpec[], mirrors: Mirrors): Finding[] {
  if (!mirrors.agent?.startsWith('http://')) return [];
  const withoutDigest = hosts.filter(
    ({ image, agent: { version, sha256 } }) =>
      !image && !sha256.x64 && !sha256.arm64 && agentSha256(version, 'x64') === '',
  );
  if (withoutDigest.length === 0) return [];
  return [
    {
      code: 'inventory.agent-digest',
      path: ['mirrors', 'agent'],
      what: 'the agent is downloaded over plain http without a digest',
      expected: 'an https mirror, or agent.sha256 for the architectures of the hosts',
      seen: `no digest for ${foldNames(withoutDigest.map((host) => host.name))}`,
      next: 'add `agent: { sha256: { x64: … } }` under `defaults:` (the release notes of the agent list it)',
    },
  ];
}

/**
 * Reports duplicate agent names. In a pool, each agent would replace the other; on a host, containers have the names of
 * their agents.
 */
function checkAgentNames(hosts: readonly HostSpec[]): Finding[] {
  const agents = hosts.flatMap((host) =>
    [...new Set(slotNames(host))].map((slot) => ({
      host,
      name: agentName(host, slot),
      pool: poolOfSlot(host, slot),
    })),
  );
  const inPools = Map.groupBy(agents, ({ pool, name }) => `${pool} ${name}`.toLowerCase());
  const onHosts = Map.groupBy(agents, ({ host, name }) => `${host.name} ${name}`.toLowerCase());
  const clashes = [
    ...[...inPools.values()].filter((same) => same.length > 1),
    ...[...onHosts.values()].filter((same) => new Set(same.map(({ pool }) => pool)).size > 1),
  ];
  // One pattern often causes several duplicates: reported once for each set of hosts.
  const causes = Map.groupBy(clashes, (same) => [...new Set(same.map(({ host }) => host.name))].join(' '));
  return [...causes.values()].flatMap(([same = []]) => {
    const last = same.at(-1);
    return last === undefined ? [] : [clash(last, new Set(same.map(({ host }) => host)))];
  });
}

function clash(
  last: { readonly host: HostSpec; readonly name: string; readonly pool: string },
  owners: ReadonlySet<HostSpec>,
): Finding {
  const { name, pool } = last;
  const { name: host, agentName } = last.host;
  const hosts = [...owners].map((owner) => owner.name);
  const names = `${foldNames(hosts.slice(0, -1))} and ${host}`;
  return {
    code: 'inventory.agent-name',
    host,
    path: ['hosts', host, 'agentName'],
    what:
      hosts.length === 1
        ? '{host} has several agents, but agentName gives all of them the same name'
        : `${names} would ${hosts.length === 2 ? 'both' : 'all'} have an agent ${name} in the pool ${pool}`,
    seen: `agentName: ${agentName}`,
    next: 'put {host} and {slot} into agentName, or choose another pool',
  };
}

/** Reports unknown placeholders and unmatched braces in pool names, each at its place in the file. */
function checkPools(host: HostSpec): Finding[] {
  const { agents, name } = host;
  const slots = agents.kind === 'slots' ? agents.slots : [];
  const named: [string | undefined, Path][] = [
    [host.pool, ['hosts', name, 'pool']],
    ...slots.map(({ pool }, index): [string | undefined, Path] => [
      pool,
      ['hosts', name, 'agents', index, 'pool'],
    ]),
  ];
  return named.flatMap(([pool = '', path]) =>
    checkPattern(pool).map((finding) => ({ ...finding, path, host: name })),
  );
}

const expected = placeholders.map((name) => `{${name}}`).join(', ');

function checkPattern(pool: string): Omit<Finding, 'path'>[] {
  const code = 'inventory.pool-pattern';
  const found = placeholdersIn(pool).flatMap((name): Omit<Finding, 'path'>[] => {
    if (name === 'group')
      return [
        {
          code,
          what: '{host} is in no group, but its pool name contains {group}',
          seen: pool,
          next: 'add the host to a group, or set another pool for it',
        },
      ];
    if (isPlaceholder(name)) return [];
    const near = nearest(name, placeholders);
    return [
      {
        code,
        what: `{${name}} in a pool name is not a known placeholder`,
        expected,
        seen: pool,
        next: near === undefined ? 'remove it, or use one of these' : `did you mean "{${near}}"?`,
      },
    ];
  });
  if (!hasStrayBrace(pool)) return found;
  const what = 'a pool name has an unmatched brace';
  return [...found, { code, what, expected, seen: pool, next: 'close or remove it' }];
}

/** Reports invalid `dockerfile` settings. `all`: also hosts with other mistakes. */
function checkDockerfiles(hosts: readonly HostSpec[], all: readonly HostSpec[]): Finding[] {
  return hosts.flatMap((host) => [...checkImage(host), ...checkBuilder(host, all)]);
}

function checkImage({ name, image, dockerfile }: HostSpec): Finding[] {
  if (image === undefined || dockerfile === undefined) return [];
  return [
    {
      code: 'inventory.image-twice',
      path: ['hosts', name, 'dockerfile'],
      host: name,
      what: '{host} has both an image and a dockerfile',
      expected: 'one of them: a dockerfile is built on top of the agent image that the hosts build',
      next: 'remove one of them, or set the base of the built image with baseImage',
    },
  ];
}

function checkBuilder({ name, dockerfile }: HostSpec, hosts: readonly HostSpec[]): Finding[] {
  const path = ['hosts', name, 'dockerfile'];
  const { folder, builder, push } = dockerfile ?? {};
  if ((builder === undefined) !== (push === undefined))
    return [
      {
        code: 'inventory.builder',
        path,
        host: name,
        what: push === undefined ? '{host} has a builder, but no push' : '{host} has a push, but no builder',
        expected: 'builder and push together, or neither: then each host builds its own',
        next: push === undefined ? 'add `push: REGISTRY/NAME`' : 'add `builder: HOST`',
      },
    ];
  if (builder === undefined) return [];
  const known = hosts.find((host) => host.name === builder);
  if (known === undefined) {
    const near = nearest(
      builder,
      hosts.map((host) => host.name),
    );
    return [
      {
        code: 'inventory.unknown-host',
        path: [...path, 'builder'],
        what: `there is no host ${builder}`,
        next: near === undefined ? 'use a host of this inventory' : `did you mean "${near}"?`,
      },
    ];
  }
  const own = known.dockerfile;
  if (own?.folder === folder && own?.builder === builder && own?.push === push) return [];
  return [
    {
      code: 'inventory.builder',
      path: [...path, 'builder'],
      host: name,
      what: `${builder} builds the image of {host}, but has a different dockerfile`,
      expected: 'the same folder, builder and push on both',
      next: `give ${builder} the same dockerfile, e.g. in the defaults or a group of both`,
    },
  ];
}
