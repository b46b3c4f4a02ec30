import { machineRoot } from '../../src/shared/base/host-root.ts';
import { bareHost } from '../../src/fleet/bundle/make/needs.ts';
import type { Facts } from '../../src/fleet/facts/facts.ts';
import type { HostSpec } from '../../src/fleet/inventory/fleet.ts';
import type { Desired } from '../../src/fleet/steps/step.ts';

type Overrides<T> = {
  readonly [K in keyof T]?: T[K] extends readonly unknown[] ? T[K] : Partial<T[K]> | T[K];
};

const h200 = { address: '0000:83:00.0', deviceId: '2335', boundTo: undefined };

const release = '6.1.0-32-amd64';

const bare: Facts = {
  ...bareHost({
    os: {
      id: 'debian',
      idLike: [],
      versionId: '12',
      codename: 'bookworm',
      pretty: 'Debian GNU/Linux 12 (bookworm)',
    },
    arch: 'x86_64',
    platform: undefined,
    systemd: 252,
    gpus: [h200],
    ignoredGpus: [],
    nvswitches: 0,
    nvlink5: { switches: 0, umad: false },
    kernels: [{ release, headers: true, driver: false }],
    images: [],
    lacksToBuild: [],
  }),
  kernel: release,
  machineId: '0f8e3f1e6d0c4a4e8f6b2a1c9d7e5b31',
  bootId: '5b1c9e0a-6f0d-4b5e-9d0e-0f1a2b3c4d5e',
  uptimeS: 3600,
  login: { user: 'labadmin', uid: 1000 },
  lacksToBuild: [],
  packages: { 'ca-certificates': '20230311+deb12u1' },
  disk: { '/': { freeBytes: 200e9, mount: '/' } },
  initramfsBytes: 60e6,
  memoryMiB: 64_000,
  cpus: 16,
};

/** The driver of the inventory's defaults is running. */
export const driven = { loaded: '580.95.05', userspace: '580.95.05', open: true } as const;

/** A freshly installed Debian 12 with one H200 and nothing on it; groups of facts are merged one level deep. */
export function factsOf(overrides: Overrides<Facts> = {}): Facts {
  return merge(bare, overrides);
}

/** One level deep: `{ docker: { active: true } }` keeps Docker's other facts. */
export function merge<T extends object>(base: T, overrides: Overrides<T>): T {
  const entries = Object.entries(overrides).map(([key, value]) => {
    const before = (base as Record<string, unknown>)[key];
    return [key, isRecord(before) && isRecord(value) ? { ...before, ...value } : value];
  });
  return { ...base, ...(Object.fromEntries(entries) as Partial<T>) };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const host: HostSpec = {
  name: 'h200-1',
  groups: [],
  labels: {},
  ssh: { transport: 'builtin', hostKeys: [], hostKeyPolicy: 'accept-new' },
  pool: 'gpu-lab',
  agents: { kind: 'one-per-gpu' },
  share: false,
  agentName: '{host}-{slot}',
  limits: {},
  driverCapabilities: ['compute', 'utility'],
  driver: { install: true, branch: '580', flavor: 'auto', method: 'repo' },
  docker: { version: '29.7.2' },
  toolkit: { version: '1.20.0' },
  agent: { version: '4.260.0', sha256: { x64: 'a'.repeat(64), arm64: undefined } },
  datasets: [],
  jobs: { sudo: false, docker: false },
  fence: 'best-effort',
  connectivityCheck: 'on',
  registration: 'rest',
  capabilities: {},
};

const text = { kind: 'text', text: '', sha256: '0'.repeat(64) } as const;

/** The desired state of one host by the inventory's defaults. */
export function desiredOf(overrides: Overrides<HostSpec> = {}, rest: Partial<Desired> = {}): Desired {
  return {
    host: merge(host, overrides),
    organization: 'https://dev.azure.com/example',
    credential: { kind: 'pat', token: { env: 'AZP_TOKEN' } },
    credentialDigest: undefined,
    registries: { names: [], digest: undefined },
    webhookDigest: undefined,
    builder: undefined,
    mirrors: {},
    proxy: { noProxy: [] },
    artifacts: {
      runtime: () => text,
      manager: text,
      context: [],
      folders: new Map(),
      unit: '',
      nodeVersion: '24.0.0',
    },
    version: '0.2.0',
    root: machineRoot,
    ...rest,
  };
}
