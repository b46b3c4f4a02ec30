import type { Refusal } from '../../../src/fleet/steps/change.ts';
import { sha256 } from '../../../src/shared/base/digest.ts';
import { machineRoot } from '../../../src/shared/base/host-root.ts';
import { HostPaths } from '../../../src/shared/contract/paths.ts';
import type { Facts } from '../../../src/fleet/facts/facts.ts';
import { managedFiles } from '../../../src/fleet/facts/probes/files.ts';
import { packageManagers, platformOf } from '../../../src/fleet/packages/distribution.ts';
import { removalOf } from '../../../src/fleet/steps/remove/remove.ts';
import { allSteps } from '../../../src/fleet/steps/all.ts';
import { isPackageChange, refinePackages, simulationOf } from '../../../src/fleet/steps/packages/refine.ts';
import type { Desired, Planned } from '../../../src/fleet/steps/step.ts';
import { agentImages, loadImages } from '../../../src/fleet/steps/bundle/images.ts';
import { agentOnHost, uploadAgent } from '../../../src/fleet/steps/bundle/agent.ts';
import { useIncluded } from '../../../src/fleet/steps/bundle/plan.ts';
import { cases } from '../../unit/fleet/steps/host-stack-cases.ts';
import { desiredOf, factsOf, merge } from '../host.ts';
import { managerStatus } from '../manager-status.ts';
import { wholeMatrix } from '../matrix.ts';
import { includedOf } from '../included.ts';

const system = (id: string, versionId: string) => ({
  id,
  idLike: [],
  versionId,
  codename: '',
  pretty: `${id} ${versionId}`,
});
const [debian12, rocky9] = [factsOf(), factsOf({ os: system('rocky', '9.6') })];
const systems = wholeMatrix
  ? [
      debian12,
      factsOf({ os: system('debian', '13') }),
      factsOf({ os: system('ubuntu', '22.04') }),
      factsOf({ os: system('ubuntu', '24.04') }),
      rocky9,
    ].flatMap((facts) => [facts, merge(facts, { arch: 'aarch64' })])
  : [debian12, rocky9];

const proxy = {
  http: 'http://proxy:3128',
  https: 'http://proxy:3128',
  noProxy: ['.lab', '10.0.0.0/8'],
  caPem: "it's a certificate",
};
const mirrors = {
  nvidiaDriver: "http://it's/nvidia",
  docker: 'http://mirror/docker',
  toolkit: 'http://mirror/kit',
  epel: "http://it's/epel",
};
const text = { kind: 'text', text: '', sha256: '0'.repeat(64) } as const;
const desiredStates: readonly Desired[] = [
  desiredOf(),
  desiredOf({}, { proxy, mirrors }),
  desiredOf({ driver: { version: '580.95.05' } }),
  desiredOf({ driver: { flavor: 'proprietary', branch: '570' } }),
  desiredOf({
    agents: {
      kind: 'slots',
      slots: [{ gpus: [], share: false, limits: {}, capabilities: ['graphics'], mode: 'host' }],
    },
  }),
  desiredOf(
    {},
    {
      artifacts: { ...desiredOf().artifacts, context: [{ path: "it's/Dockerfile", artifact: text }] },
      credentialDigest: () => sha256('pat'),
      registries: { names: ['registry.lab'], digest: () => sha256('password') },
    },
  ),
];

/** Start states of each system: from nothing to leftovers of a user or of an interrupted run. */
const states: readonly Parameters<typeof merge<Facts>>[1][] = [
  {},
  {
    driver: { nouveau: true },
    packages: { 'docker.io': '20.10.24', runc: '1.1', 'nvidia-driver-pinning-570': '570' },
  },
  { nvswitches: 4, docker: { active: true, serverVersion: '24.0.9', daemonJson: '{"a": "it\'s"}' } },
  { packages: { 'nvidia-driver-cuda': '580.1.2-1', 'nvidia-kernel-open-dkms': '580.1.2-1' } },
  {
    files: { [HostPaths.unit]: sha256('old') },
    manager: { unitActive: 'active', registriesDigest: sha256('old') },
  },
  { systemd: 245, manager: { registriesDigest: sha256('old') } },
  {
    manager: {
      leftovers: [`${HostPaths.token}.next`],
      status: managerStatus({ drains: [{ reason: "it's", at: '', run: "run it's" }] }),
    },
  },
];

/** Returns every script that a step plans: for each case of the host stack, and each state of each system. */
export function plannedScripts(): [string, string][] {
  const hosts = [
    ...cases.map(([, facts, desired]) => [facts, desired] as const),
    ...systems.flatMap((facts) =>
      states.flatMap((state) => desiredStates.map((desired) => [merge(facts, state), desired] as const)),
    ),
  ];
  return hosts.flatMap(([facts, desired]) => scriptsOf(found(facts, desired)));
}

/** Returns the simulations of package managers, and what runs after their answers, on used machines of each family. */
export function packageScripts(): [string, string][] {
  const desired = desiredOf({}, { proxy, mirrors });
  const ids = new Map(systems.map((facts) => [facts.os.id, facts]));
  return [...ids.values()].flatMap((facts) => {
    const worn = merge(facts, { ...states[1] });
    const items = found(worn, desired);
    const { script } = simulationOf(items, worn, desired, {}) ?? { script: '' };
    return [['simulation', script], ...scriptsOf(refinePackages(items, { answers: {}, final: true }))];
  });
}

/** Returns the scripts that gather packages for hosts without a network, and those that upload and install them there. */
export function bundleScripts(): [string, string][] {
  return systems.flatMap((facts) => {
    const platform = platformOf(facts);
    if (platform === undefined) return [];
    const name = `${platform.id}-${platform.versionId}`;
    const desired = desiredOf({}, { proxy, included: includedOf(['none'], name) });
    const items = useIncluded(found(facts, desired), facts, desired);
    const transactions = items.filter(isPackageChange).map(({ pending }) => pending.transaction);
    const site = { mirrors: { ...mirrors, apt: "http://it's/archive" }, proxy, caPem: proxy.caPem };
    const { script } = simulationOf(items, facts, desired, {}) ?? { script: '' };
    return [
      ['gather', platform.packages.offline.gather({ transactions, system: platform, site })],
      ['simulation of a bundle', script],
      ...scriptsOf(items),
      ...scriptsOf([...uploadAgent(facts, onHost(facts))]),
      ...scriptsOf([
        ...loadImages(facts, { ...desired, included: includedOf(wantedImages(facts, desired)) }),
      ]),
    ];
  });
}

/** Returns the scripts for agents in host mode, with their archive in the bundle. */
function onHost(facts: Facts): Desired {
  const slot = { gpus: [], share: false, limits: {}, capabilities: [], mode: 'host' } as const;
  const desired = desiredOf({ agents: { kind: 'slots', slots: [slot] } });
  const digest = agentOnHost(facts, desired)?.sha256 ?? '';
  return { ...desired, included: includedOf([], 'debian-12', [digest]) };
}

function wantedImages(facts: Facts, desired: Desired): string[] {
  const none = (): Promise<Buffer> => Promise.reject(new Error('not read'));
  const context = desired.included?.context ?? Buffer.alloc(0);
  return agentImages(facts, desired, 'x64', context, none).map(({ reference }) => reference);
}

/** Returns the scripts that remove azp-fleet from a provisioned machine of each family. */
export function removalScripts(): [string, string][] {
  const parts = new Set(['toolkit', 'docker', 'driver'] as const);
  const files = [...packageManagers.flatMap((manager) => manager.files), ...Object.values(managedFiles)];
  const ids = new Map(systems.map((facts) => [facts.os.id, facts]));
  return [...ids.values()].flatMap((facts) => {
    const worn = merge(facts, {
      packages: { 'docker-ce': '5:29', 'nvidia-container-toolkit': '1', 'nvidia-driver-cuda': '1' },
      held: ['docker-ce'],
      files: Object.fromEntries(files.map((file) => [file, 'x'])),
      docker: { daemonJson: `{"live-restore":true,"a":"it's"}` },
      ours: {
        folders: [HostPaths.opt],
        users: ['azp-agent-0'],
        daemonJsonBefore: `{"a":"it's"}`,
        sources: [{ file: '/etc/my own', aside: '/etc/my own.off', by: 'docker', names: [], taken: false }],
      },
    });
    const removal = { host: desiredOf().host, owner: 'me', root: machineRoot };
    const runfile = merge(facts, {
      driver: { runfile: true, userspace: '580.95.05' },
      ours: { runfile: { version: '580.95.05', graphics: false } },
    });
    return [
      ...[new Set<never>(), parts].flatMap((asked) =>
        scriptsOf(removalOf(worn, { ...removal, parts: asked })),
      ),
      ...scriptsOf(removalOf(runfile, { ...removal, parts })),
    ];
  });
}

function found(facts: Facts, desired: Desired): (Planned | Refusal)[] {
  return allSteps.flatMap((step) => [...step.plan(facts, desired)]);
}

function scriptsOf(items: readonly (Planned | Refusal)[]): [string, string][] {
  return items.flatMap((item) =>
    'actions' in item
      ? item.actions.flatMap((action): [string, string][] =>
          action.kind === 'run' ? [[item.id, action.script]] : [],
        )
      : [],
  );
}
