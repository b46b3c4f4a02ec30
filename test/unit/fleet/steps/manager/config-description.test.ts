import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { sha256 } from '../../../../../src/shared/base/digest.ts';
import { type ManagerConfig, readConfig } from '../../../../../src/shared/contract/config.ts';
import { describeConfig } from '../../../../../src/fleet/steps/manager/config-description.ts';
import { managerStatus } from '../../../../support/manager-status.ts';

const build = {
  kind: 'build',
  base: 'ubuntu:24.04',
  registry: 'registry.lab',
  aptMirror: 'http://mirror.lab',
  agentVersion: '4.276.0',
  agentSha256: 'a'.repeat(64),
  agentUrl: 'https://mirror.lab/agent/4.276.0/agent.tar.gz',
  top: { name: 'vision', folder: 'b'.repeat(64), push: 'registry.lab/vision:1' },
} as const;
const bigSlot = {
  name: 'big',
  gpus: [0, 'GPU-1'],
  share: false,
  limits: { memory: '64g', cpus: 8, shm: '8g', pids: 100 },
  capabilities: ['compute'],
  mode: 'container',
  pool: 'train',
  image: 'registry.lab/own:1',
} as const;

/** A configuration with every key, as its type requires. */
const full: Required<ManagerConfig> = {
  schema: 1,
  host: 'h200-1',
  organization: 'https://dev.azure.com/lab',
  credential: { kind: 'service-principal', clientId: 'c', tenantId: 't', authority: 'https://login.lab' },
  pool: 'gpu-lab',
  agents: { kind: 'slots', slots: [bigSlot] },
  share: false,
  gpus: 4,
  ignoredGpus: ['10de:128b'],
  agentName: '{host}-{slot}',
  limits: { memory: '32g', cpus: 4, shm: '2g', pids: 50 },
  driverCapabilities: ['compute'],
  image: build,
  datasets: [{ name: 'COCO', host: '/data/coco', container: '/datasets/coco', requireMount: false }],
  jobs: { sudo: false, docker: false },
  fence: 'required',
  registration: 'rest',
  capabilities: { site: 'munich' },
  proxy: { http: 'http://a:1', https: 'http://b:1', noProxy: ['.lab'], ca: true, caSha256: 'c'.repeat(64) },
  webhook: { offlineS: 600, queueWaitS: 1800 },
  idle: { afterS: 1800, run: 'poweroff' },
  connectivityCheck: 'off',
  metricsPort: 9417,
};
/** The other forms of keys with more than one form. */
const registry: ManagerConfig = {
  ...full,
  agents: { kind: 'count', count: 2 },
  image: { kind: 'registry', reference: 'registry.lab/agent:1', builtBy: 'h200-2' },
};

type Path = readonly (string | number)[];

function leaves(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([key, each]) => leaves(each, [...path, key]));
}

/** Returns the configuration with another value at the path: a valid name if the key has several, else any. */
function withOther(config: ManagerConfig, path: Path): ManagerConfig {
  const copy = structuredClone(config) as unknown as Record<string | number, unknown>;
  const parent = path.slice(0, -1).reduce((each, key) => each[key] as Record<string | number, unknown>, copy);
  const last = path.at(-1) ?? '';
  const value = parent[last];
  const names: Readonly<Record<string, string>> = { container: 'host', rest: 'config', compute: 'video' };
  parent[last] =
    typeof value === 'boolean'
      ? !value
      : typeof value === 'number'
        ? value + 1
        : (names[String(value)] ?? `x${String(value)}`);
  return copy as unknown as ManagerConfig;
}

const describeChange = (before: string | undefined, desired: ManagerConfig, gpus = 4) =>
  describeConfig(
    {
      digest: before === undefined ? undefined : sha256(before),
      text: before,
      gpus,
      memoryMiB: 131_072,
      status: undefined,
    },
    desired,
  );
const texts = (before: ManagerConfig, desired: ManagerConfig): string[] =>
  describeChange(JSON.stringify(before), desired).details.map(({ text }) => text);

describe('every key of the configuration', () => {
  // `kind` selects a form, and `schema` follows from the login; other tests cover both.
  const places = [full, registry].flatMap((config) =>
    leaves(config)
      .filter((path) => path.at(-1) !== 'kind' && path[0] !== 'schema')
      .map((path) => [path.join('.'), config, path] as const),
  );

  test.each(places)('has a description if it changes: %s', (_, config, path) => {
    const [first = ''] = texts(config, withOther(config, path));
    // Entries with a name use the new name; certificates are added or removed as a whole.
    const forms: Readonly<Record<string, RegExp>> = { ca: /^proxy\.ca: /, name: /→ x|^(slot|dataset) x/ };
    expect(first).toMatch(forms[String(path.at(-1))] ?? / → /);
    expect(first).not.toMatch(/order or spacing|not known/);
  });

  test('has a description if it is added or removed', () => {
    const optional = ['gpus', 'limits', 'datasets', 'capabilities', 'driverCapabilities', 'share'] as const;
    for (const key of optional) {
      const { [key]: _, ...rest } = full;
      const before = readConfig(JSON.stringify(rest));
      expect(before?.config[key]).toBeUndefined();
      expect(texts(rest as ManagerConfig, full).length).toBeGreaterThan(0);
    }
  });
});

describe('a configuration of another release, or an invalid one', () => {
  const seen = (text: string | undefined, digest = 'd') => ({
    digest,
    text,
    gpus: 4,
    memoryMiB: 131_072,
    status: undefined,
  });

  test('has its unknown keys named, without their values', () => {
    const strange = { ...full, tenants: { token: 's3cret' }, limits: { ...full.limits, gpu: 's3cret' } };
    const { details } = describeChange(JSON.stringify(strange), full);
    expect(details).toEqual([
      { marker: 'remove', text: 'limits.gpu: unknown to this release' },
      { marker: 'remove', text: 'tenants: unknown to this release' },
    ]);
  });

  test('is unknown if a key has another meaning there', () => {
    const { details } = describeChange(
      JSON.stringify({ ...registry, agents: { kind: 'by-memory', gib: 40 } }),
      registry,
    );
    expect(details).toEqual([{ marker: 'change', text: 'agents: unknown to this release → 2' }]);
  });

  test("that cannot be read names the agents in the manager's status", () => {
    const slot = {
      state: 'idle',
      gpus: [],
      since: '',
      jobsRun: 0,
      pool: 'gpu-lab',
    } as const;
    const status = managerStatus({
      slots: [
        { ...slot, slot: '0', agent: 'h200-1-0' },
        { ...slot, slot: '9', agent: 'h200-1-9' },
      ],
    });
    const details = [
      { marker: 'add', text: 'registers h200-1-1 in pool gpu-lab' },
      { marker: 'remove', text: 'removes h200-1-9 from pool gpu-lab', effect: 'running jobs finish first' },
    ];
    expect(describeConfig({ ...seen(undefined), status }, registry)).toEqual({
      details,
      remark: 'the present manager.json is too long to compare',
    });
    expect(describeConfig({ ...seen('[1]'), status }, registry)).toEqual({
      details,
      remark: 'the present manager.json is not a configuration',
    });
  });

  test('with the same values in another form is described as such', () => {
    expect(describeChange(JSON.stringify(full, null, 7), full).details).toEqual([
      { marker: 'change', text: 'the same values in another order or spacing' },
    ]);
  });

  test('cannot make a plan long, slow or many lines', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, at) => [`k${at}`, 'x'.repeat(30)]));
    const evil = { ...full, ...many, agents: { kind: 'count', count: 1e12 }, pool: `a\n  + forged\u001B[2J` };
    const { details } = describeChange(JSON.stringify(evil).slice(0, 190_000), full);
    expect(details.length).toBeLessThan(200);
    const { details: named } = describeChange(JSON.stringify(evil), full);
    expect(JSON.stringify(named)).not.toMatch(/\\n|u001b/i);
    expect(
      describeChange(JSON.stringify({ ...full, pool: `a\n  + forged\u001B[2J` }), full).details[0]?.text,
    ).toBe('pool: a   + forged → gpu-lab');
  });

  test('never throws', () => {
    const json = fc.json({ maxDepth: 5 });
    const parts = fc.record(
      Object.fromEntries(
        Object.keys(full).map((key) => [key, fc.oneof(fc.jsonValue(), fc.constant(full[key as 'host']))]),
      ),
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(
        fc.oneof(
          json,
          fc.string(),
          parts.map((value) => JSON.stringify(value)),
        ),
        (text) => {
          for (const { text: line } of describeChange(text, full).details)
            expect(line).not.toMatch(/[\n\u001B]/);
        },
      ),
    );
  });
});

describe('a new configuration', () => {
  test('is described where it differs from the defaults, and by its agents', () => {
    expect(
      describeChange(undefined, {
        ...registry,
        jobs: { sudo: false, docker: true },
        limits: {},
        datasets: [],
        capabilities: {},
      }),
    ).toEqual({
      details: [
        {
          marker: 'add',
          text: 'jobs.docker: true',
          effect: "jobs may use Docker's socket: root on this host",
        },
        { marker: 'add', text: 'network: required', effect: 'no job starts without network isolation' },
        {
          marker: 'add',
          text: 'idle: poweroff after 30 min',
          effect: 'running and queued jobs, logins and containers of others keep the machine on',
        },
        {
          marker: 'add',
          text: 'connectivityCheck: off',
          effect: 'a lost connection to Azure DevOps shows minutes later',
        },
        { marker: 'add', text: 'memory of each agent: 60 GiB of 128 GiB' },
        { marker: 'add', text: 'registers h200-1-0, h200-1-1 in pool gpu-lab' },
      ],
    });
  });
});
