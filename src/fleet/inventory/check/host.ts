import type { Code } from '../../../shared/base/codes/code.ts';
import type { HostSpec, Mirrors } from '../fleet.ts';
import { foldNames } from '../fold-names.ts';
import { poolsOf, type SlotSpec } from '../../../shared/contract/slots.ts';
import { agentSha256 } from '../../../shared/contract/agent-release.ts';
import type { Path } from '../document/path.ts';

/** A mistake that only shows when several keys are looked at together. */
export interface Finding {
  readonly code: Code;
  readonly path: Path;
  /** `{host}` in it stands for `host`: what is wrong for many hosts by one line of the file is told once. */
  readonly what: string;
  readonly host?: string;
  readonly expected?: string;
  readonly seen?: string;
  readonly next?: string;
}

/** Mistakes of one host once everything that applies to it is known. */
export function checkHost(host: HostSpec): Finding[] {
  const found: Finding[] = [];
  if (poolsOf(host).includes(''))
    found.push({
      code: 'inventory.no-pool',
      path: ['hosts', host.name],
      what: '{host} has no pool',
      expected: 'a pool in defaults, in one of its groups or at the host',
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
        next: 'give each slot a name of its own',
      });
    names.add(name);
    if (slot.mode === 'host' && host.registration === 'config')
      found.push({
        code: 'inventory.host-registration',
        path: [...path, index, 'mode'],
        what: `slot ${name} of {host} runs on the host, and registration: config registers by an image only`,
        next: 'use `registration: rest` for this host, or `mode: container` for the slot',
      });
    for (const gpu of new Set(slot.gpus)) {
      if (slot.gpus.filter((each) => each === gpu).length > 1)
        found.push({
          code: 'inventory.slot-gpu',
          path: [...path, index, 'gpus'],
          what: `slot ${name} of {host} has GPU ${gpu} twice`,
          next: 'name each GPU once',
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

/** Variables that the agent, the container runtime or the shell in a container give their own meaning. */
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
        what: `the environment variable ${dataset.name} has a meaning of its own in an agent container`,
        next: 'choose another name for the dataset',
      });
    if (other !== undefined)
      found.push({
        code: 'inventory.dataset-path',
        path: [...path, 'container'],
        what: `the datasets ${other} and ${dataset.name} of {host} have the same path in the container`,
        seen: dataset.container,
        next: 'give each dataset a path of its own',
      });
    return found;
  });
}

/** What is reached by the same way at the same address is one machine. */
export function checkAddresses(hosts: readonly HostSpec[]): Finding[] {
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
        expected: 'one name for each machine: two managers cannot run on one',
        next: 'take one of the names out; two pools on one host are a matter of its `agents:` list',
      },
    ];
  });
}

/** What comes over plain http is trusted by its digest or not at all. */
export function checkAgentDigest(hosts: readonly HostSpec[], mirrors: Mirrors): Finding[] {
  if (!mirrors.agent?.startsWith('http://')) return [];
  const open = hosts.filter(
    ({ image, agent: { version, sha256 } }) =>
      !image && !sha256.x64 && !sha256.arm64 && agentSha256(version, 'x64') === '',
  );
  if (open.length === 0) return [];
  return [
    {
      code: 'inventory.agent-digest',
      path: ['mirrors', 'agent'],
      what: 'the agent would come over plain http, and nothing says what it must be',
      expected: 'an https mirror, or agent.sha256 for the architectures of the hosts',
      seen: `no digest for ${foldNames(open.map((host) => host.name))}`,
      next: 'add `agent: { sha256: { x64: … } }` under `defaults:` (the release notes of the agent list it)',
    },
  ];
}
