// The ladder of one host: it stops at each rung that fails, says what to do, and does not check what depends on it.
import { describe, expect, test } from 'vitest';

import { climbHost, hostRungs } from '../../../../src/fleet/doctor/host-rungs.ts';
import { type HostRung, hostSeen, type PoolSeen, rungOf } from '../../../../src/fleet/doctor/host-seen.ts';
import { overall, type RungResult } from '../../../../src/fleet/doctor/ladder.ts';
import type { Facts, UnknownFact } from '../../../../src/fleet/facts/facts.ts';
import type { FleetChange } from '../../../../src/fleet/plan/pools.ts';
import type { Observation } from '../../../../src/fleet/status/row.ts';
import { codeTables, findings } from '../../../../src/shared/base/codes/tables.ts';
import { type Code, foreignCode } from '../../../../src/shared/base/codes/code.ts';
import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import type { Checkup } from '../../../../src/shared/health/checkup.ts';
import { merge } from '../../../support/host.ts';
import { facts as provisioned, host as plain, now, pool, slot, status } from '../status/observation.ts';

const host = {
  ...plain,
  datasets: [{ name: 'IMAGENET', host: '/data', container: '/data', requireMount: true }],
} as Observation['host'];
const report = (difference: Partial<ManagerStatus> = {}): ManagerStatus =>
  status({
    connection: { to: 'dev.azure.com:443', checkedAt: new Date(now - 20_000).toISOString() },
    ...difference,
  });
const facts = (difference: Parameters<typeof merge<Facts>>[1] = {}): Facts =>
  merge(provisioned({ status: report() }, { time: now }), difference);
const withReport = (difference: Partial<ManagerStatus>): Observation =>
  observed(facts({ manager: { status: report(difference) } }));
const checked: Checkup = {
  verdict: { state: 'healthy', cause: '', next: '' },
  findings: [],
  report: { gpus: [{}, {}] } as never,
};
const observed = (of: Facts, probe: Checkup = checked): Observation => ({
  host,
  facts: of,
  readAt: now,
  probe,
});
const unreached = (code: Code, more: Partial<Observation> = {}, what = 'it failed'): Observation => ({
  host,
  isConnected: false,
  problem: { code, what, next: 'repair it' },
  ...more,
});

const intact: PoolSeen = { name: 'gpu-lab', changes: [] };
const change = (action: FleetChange['action']): PoolSeen => ({
  name: 'gpu-lab',
  changes: [{ id: 'x', title: 'x', why: 'x', action }],
});
const place = { pool: 'gpu-lab', project: 'vision' } as const;

interface Around {
  readonly pools?: readonly PoolSeen[];
  readonly machine?: readonly RungResult[];
  readonly isProbeOff?: boolean;
  readonly isListed?: boolean;
}

function ladder(observation: Observation, around: Around = {}): ReadonlyMap<string, RungResult> {
  const { pools = [intact], machine = [], isProbeOff = false, isListed = true } = around;
  const agentsIn = () => (isListed ? pool : undefined);
  const seen = hostSeen(observation, { now, pools, agentsIn, projects: ['vision'], isProbeOff });
  return new Map(climbHost(seen, machine).map((result) => [result.rung, result]));
}

/** Returns the rungs that depend on this one, directly or not. */
function dependants(of: HostRung): readonly string[] {
  const found = new Set<string>([of]);
  for (const { id, dependsOn } of hostRungs) if (dependsOn.some((each) => found.has(each))) found.add(id);
  return [...found].filter((id) => id !== of);
}

const states = (rungs: ReadonlyMap<string, RungResult>) =>
  Object.fromEntries([...rungs].map(([id, { state }]) => [id, state]));

test('a healthy host: every rung is ok', () => {
  const rungs = ladder(observed(facts()));
  expect([...rungs.values()].filter(({ state }) => state !== 'ok')).toEqual([]);
  expect(overall([...rungs.values()])).toBe('ok');
});

const waiting = (code: string, cause: string): SlotStatus =>
  slot('0', { state: 'waiting', code, cause, next: 'do this' });
const finding = (code: Code, next = 'do this') => ({
  code,
  severity: 'fail' as const,
  what: 'it failed',
  next,
});
const failing = (code: Code, next?: string): Checkup => ({
  verdict: { state: 'failed', cause: 'x', next: 'x' },
  findings: [finding(code, next)],
});
const reported = (code: string) => ({ problems: [{ code, what: 'it failed', next: 'do this' }] });

/** What fails, the rung that it breaks, the code, and whether provision is its fix. */
const failures: [string, HostRung, Observation, Code, ('provision' | undefined)?, Around?][] = [
  ['ssh_config does not fit', 'settings', unreached('ssh.unsupported'), 'ssh.unsupported'],
  ['no password for the login', 'settings', unreached('inventory.secret'), 'inventory.secret'],
  ['the name', 'dns', unreached('ssh.dns'), 'ssh.dns'],
  ['sshd is down', 'port', unreached('ssh.refused'), 'ssh.refused'],
  ['the host is down', 'port', unreached('ssh.timeout'), 'ssh.timeout'],
  ['another server', 'port', unreached('ssh.no-server'), 'ssh.no-server'],
  ['a wrong key', 'host-key', unreached('ssh.host-key-mismatch'), 'ssh.host-key-mismatch'],
  ['no key accepted', 'login', unreached('ssh.auth'), 'ssh.auth'],
  ['no shell', 'login', unreached('ssh.no-shell', { isConnected: true }), 'ssh.no-shell'],
  [
    'sudo asks',
    'sudo',
    unreached('ssh.sudo-password-needed', { isConnected: true }),
    'ssh.sudo-password-needed',
  ],
  [
    'lost while reading',
    'facts',
    unreached('ssh.connection-lost', { isConnected: true }),
    'ssh.connection-lost',
  ],
  ['the script hangs', 'facts', unreached('ssh.script-timeout', { isConnected: true }), 'ssh.script-timeout'],
  ['another system', 'os', observed(facts({ os: { id: 'arch', versionId: '' } })), 'setup.unsupported'],
  ['no systemd', 'os', observed({ ...facts(), systemd: undefined }), 'setup.no-systemd'],
  [
    'a wrong clock',
    'clock',
    observed(
      facts({
        time: now + 6 * 60_000,
        manager: {
          status: report({
            at: new Date(now + 6 * 60_000).toISOString(),
            connection: { to: 'x', checkedAt: new Date(now + 6 * 60_000).toISOString() },
            health: { ...report().health, checkedAt: new Date(now + 6 * 60_000).toISOString() },
          }),
        },
      }),
    ),
    'host.clock-off',
  ],
  ['a full disk, by the manager', 'disk', withReport({ slots: [waiting('disk.full', 'full')] }), 'disk.full'],
  [
    'a read-only file system',
    'disk',
    withReport({ health: { ...report().health, findings: [finding('host.read-only')] } }),
    'host.read-only',
  ],
  [
    'no module',
    'driver',
    observed(facts({ driver: { loaded: undefined } })),
    'driver.not-loaded',
    'provision',
  ],
  [
    'libraries of another version',
    'driver',
    observed(facts(), failing('driver.mismatch')),
    'driver.mismatch',
    'provision',
  ],
  ['dockerd is down', 'docker', observed(facts({ docker: { active: false } })), 'docker.down', 'provision'],
  [
    'no toolkit',
    'toolkit',
    observed(facts({ toolkit: { version: undefined } })),
    'toolkit.missing',
    'provision',
  ],
  [
    'CDI of another driver',
    'toolkit',
    observed(facts({ toolkit: { cdiDriver: '570.1' } })),
    'engine.cdi-stale',
    'provision',
  ],
  ['no CDI', 'toolkit', observed(facts({ toolkit: { cdiSpec: false } })), 'engine.cdi-stale', 'provision'],
  [
    'CDI of other MIG devices',
    'toolkit',
    observed(facts({ toolkit: { cdiMigDiffers: true } })),
    'engine.cdi-stale',
    'provision',
  ],
  [
    'no hook',
    'toolkit',
    observed(facts(), failing('engine.no-gpu-driver', 'run `azp-fleet provision`, which installs it')),
    'engine.no-gpu-driver',
    'provision',
  ],
  [
    'no image to probe with',
    'probe',
    observed(facts(), failing('probe.no-image', 'run `azp-fleet provision`, which builds it')),
    'probe.no-image',
    'provision',
  ],
  ['a GPU is gone', 'probe', observed(facts(), failing('gpu.missing')), 'gpu.missing'],
  ['nvidia-smi hangs', 'probe', observed(facts(), failing('smi.hung', 'reboot HOST')), 'smi.hung'],
  [
    'an XID',
    'probe',
    withReport({ health: { ...report().health, findings: [finding('xid.79')] } }),
    'xid.79',
    undefined,
    { isProbeOff: true },
  ],
  [
    'no manager',
    'manager',
    observed(facts({ manager: { current: undefined } })),
    'host.not-provisioned',
    'provision',
  ],
  [
    'a stopped manager',
    'manager',
    observed(facts({ manager: { unitActive: 'inactive' } })),
    'manager.down',
    'provision',
  ],
  [
    'a silent manager',
    'manager',
    withReport({ at: new Date(now - 200_000).toISOString() }),
    'manager.silent',
  ],
  [
    'a subsystem',
    'manager',
    withReport(reported('manager.subsystem-failed')),
    foreignCode('manager.subsystem-failed'),
  ],
  ['of a newer manager', 'manager', withReport(reported('new.problem')), foreignCode('new.problem')],
  ['a dead proxy', 'azure', withReport(reported('azure.no-connection')), foreignCode('azure.no-connection')],
  ['a connection that was not tested', 'azure', withReport({ connection: { to: 'x' } }), 'manager.old-view'],
  ['a token that ended', 'host-token', withReport(reported('azure.auth')), foreignCode('azure.auth')],
  [
    'a token that ended long ago',
    'host-token',
    withReport({
      ...reported('azure.auth'),
      pools: [{ name: 'gpu-lab', up: false, at: new Date(now - 3_600_000).toISOString() }],
    }),
    foreignCode('azure.auth'),
    undefined,
    { isListed: false },
  ],
  [
    'no pool',
    'pool',
    observed(facts()),
    'azure.pool-missing',
    'provision',
    { pools: [change({ kind: 'create-pool', pool: 'gpu-lab' })] },
  ],
  [
    'a pool that updates agents',
    'pool',
    observed(facts()),
    'azure.auto-update',
    'provision',
    { pools: [change({ kind: 'disable-auto-update', pool: 'gpu-lab' })] },
  ],
  [
    'no queue',
    'queue',
    observed(facts()),
    'azure.queue-missing',
    'provision',
    { pools: [change({ kind: 'create-queue', ...place })] },
  ],
  [
    'no project',
    'queue',
    observed(facts()),
    'azure.project-missing',
    undefined,
    { pools: [{ ...intact, projectProblem: { code: 'azure.project-missing', what: 'x', next: 'do this' } }] },
  ],
  [
    'no permission',
    'permission',
    observed(facts()),
    'azure.queue-closed',
    'provision',
    { pools: [change({ kind: 'authorize-queue', ...place })] },
  ],
  [
    'no image',
    'image',
    withReport({ image: { state: 'failed' }, images: [{ state: 'failed', cause: 'no space', slots: [] }] }),
    'image.failed',
    'provision',
  ],
  [
    'an unmounted dataset',
    'dataset',
    withReport({ slots: [waiting('dataset.unusable', '/data is not mounted')] }),
    foreignCode('dataset.unusable'),
  ],
  ['no agent', 'agents', withReport({ slots: [] }), 'agents.none'],
  [
    'a name that is held',
    'agents',
    withReport({ slots: [waiting('agent.name-held', 'held')] }),
    'agents.waiting',
  ],
];

describe('stops at each rung', () => {
  test.each(failures)('%s: %s', (_, rung, observation, code, fix, around = {}) => {
    const rungs = ladder(observation, around);
    expect(rungs.get(rung)).toMatchObject({ state: 'broken', code, ...(fix && { fix }) });
    const found = rungs.get(rung);
    if (found?.state === 'broken') {
      expect(found.next).toMatch(/^[a-z]/);
      expect(found.next).not.toContain('HOST');
      expect(found.fix).toBe(fix);
      if (fix !== undefined && found.next.includes('provision'))
        expect(found.next).toContain('azp-fleet provision h200-1');
    }
    const blocked = dependants(rung);
    for (const id of blocked) expect(rungs.get(id), id).toMatchObject({ state: 'blocked', because: rung });
    const others = [...rungs.values()].filter(({ rung: id }) => id !== rung && !blocked.includes(id));
    // A host that is not reached has pools, but no manager to say more.
    expect(others.filter(({ state }) => state !== 'ok' && state !== 'skipped')).toEqual([]);
    expect(overall([...rungs.values()])).toBe('broken');
  });

  test('there is a failure for every rung', () => {
    expect(new Set(failures.map(([, rung]) => rung))).toEqual(new Set(hostRungs.map(({ id }) => id)));
  });
});

describe('what could not be read is unknown, never ok', () => {
  const without = (...names: readonly string[]): Observation =>
    observed({ ...facts(), unknown: names.map((fact): UnknownFact => ({ fact, why: 'no answer in 8 s' })) });
  test.each<[string, HostRung, Observation, Around?]>([
    ['the clock', 'clock', observed({ ...facts(), time: undefined })],
    ['the disk', 'disk', without('disk')],
    ['the driver', 'driver', without('driver')],
    ['the GPUs', 'driver', without('gpus')],
    ['Docker', 'docker', without('docker-info')],
    ['the packages', 'toolkit', without('packages-apt')],
    ['no probe ran', 'probe', { host, facts: facts(), readAt: now }],
    ['the manager', 'manager', without('manager')],
    ['its report', 'manager', without('manager-status')],
    [
      'a pool that the manager has not read',
      'host-token',
      withReport({ pools: [{ name: 'gpu-lab', up: false }] }),
    ],
    [
      'an image in progress',
      'image',
      withReport({ image: { state: 'pulling' }, images: [{ state: 'pulling', slots: [] }] }),
    ],
    [
      'the pool',
      'pool',
      observed(facts()),
      { pools: [{ ...intact, problem: { code: 'azure.throttled', what: 'x' } }] },
    ],
    ['the name of the pool', 'pool', observed(facts()), { pools: [] }],
    ['the agents in the pool', 'agents', observed(facts()), { isListed: false }],
    [
      'agents that are starting',
      'agents',
      withReport({ slots: [slot('0', { state: 'starting', since: new Date(now - 5000).toISOString() })] }),
    ],
  ])('%s: %s', (_, rung, observation, around = {}) => {
    const rungs = ladder(observation, around);
    expect(rungs.get(rung)).toMatchObject({ state: 'unknown' });
    for (const id of dependants(rung)) expect(rungs.get(id)?.state, id).toBe('blocked');
    expect(overall([...rungs.values()])).not.toBe('ok');
  });

  test('facts that no rung needs are not ok either', () => {
    const rungs = [...ladder(without('others')).values()];
    expect(rungs.every(({ state }) => state === 'ok')).toBe(true);
    expect(overall(rungs)).toBe('broken');
  });
});

describe('what has nothing to check', () => {
  test('a host without GPUs has no driver and no toolkit', () => {
    const cpu = facts({
      gpus: [],
      driver: { loaded: undefined },
      toolkit: { version: undefined, cdiSpec: false },
    });
    const { gpus: _, ...withoutGpus } = host;
    const probe = { verdict: checked.verdict, findings: [] };
    expect(states(ladder({ ...observed(cpu, probe), host: withoutGpus }))).toMatchObject({
      driver: 'skipped',
      toolkit: 'skipped',
      probe: 'skipped',
      agents: 'ok',
    });
  });

  test('without probe, projects, datasets and connection test', () => {
    const seen = hostSeen(
      { ...withReport({ connection: undefined as never }), host: plain },
      { now, pools: [intact], agentsIn: () => pool, projects: [], isProbeOff: true },
    );
    const rungs = climbHost(seen, []);
    expect(rungs.filter(({ state }) => state === 'skipped').map(({ rung }) => rung)).toEqual([
      'probe',
      'azure',
      'queue',
      'permission',
      'dataset',
    ]);
    expect(overall(rungs)).toBe('ok');
  });

  test('a drain by a user is no fault: it says whose it is, and how it ends', () => {
    const drains = [{ reason: 'a new fan', at: '2026-11-20T08:15:00Z', owner: 'ann@laptop' }];
    const drained = { state: 'drained', code: 'drained' } as const;
    const rungs = ladder(
      withReport({ drained: true, drains, slots: [slot('0', drained), slot('1', drained)] }),
    );
    expect(rungs.get('agents')).toMatchObject({
      state: 'skipped',
      why: expect.stringContaining('drained by ann@laptop: a new fan') as string,
      next: expect.stringContaining('azp-fleet undrain h200-1 --of ann') as string,
    });
    expect(rungs.get('agents')).not.toHaveProperty('fix');
  });

  test('a jump host resolves the name: DNS is not checked, and never ok', () => {
    const rungs = ladder(unreached('ssh.auth', {}, 'jump host b: ann@b accepted no credential'));
    expect(states(rungs)).toMatchObject({ settings: 'ok', dns: 'skipped', port: 'broken', login: 'blocked' });
  });
});

test('the disk: a manager knows how large it is, and without one 10 GiB must be free', () => {
  const disk = { '/': { freeBytes: 9e9, mount: '/' } };
  expect(ladder(observed(facts({ disk }))).get('disk')).toMatchObject({ state: 'ok' });
  const bare = observed(facts({ disk, manager: { current: undefined, status: undefined } }));
  expect(ladder(bare).get('disk')).toMatchObject({
    state: 'broken',
    code: 'disk.full',
    what: 'the disk of Docker (/var/lib/docker) is nearly full: 8.4 GiB free on /',
  });
});

test('a next action can be pasted, whatever the name of the pool', () => {
  const pools = [change({ kind: 'create-queue', pool: 'gpu lab', project: 'vision' })];
  expect(ladder(observed(facts()), { pools }).get('queue')).toMatchObject({
    next: "run `azp-fleet pool authorize 'gpu lab'`",
  });
});

test('a pool that is missing is not blamed on the token of the host', () => {
  const rungs = ladder(withReport({ ...reported('pool.missing'), pools: [{ name: 'gpu-lab', up: false }] }));
  expect(states(rungs)).toMatchObject({ 'host-token': 'ok', pool: 'broken', agents: 'blocked' });
});

test.each([
  [0, 'run `azp-fleet provision h200-1`', 'provision'],
  [99, 'update azp-fleet on this machine to 0.2.0', undefined],
] as const)('a manager of protocol %i: %s', (protocol, next, fix) => {
  const old = report({ protocol });
  const rungs = ladder(
    observed(facts({ manager: { status: undefined, release: { version: old.version, protocol } } })),
  );
  expect(rungs.get('manager')).toMatchObject({ code: 'manager.release', next });
  expect(rungs.get('manager')).toEqual(
    fix ? expect.objectContaining({ fix }) : expect.not.objectContaining({ fix: 'provision' }),
  );
});

test('a warning about one agent leaves the rung ok, and is shown with it', () => {
  const rungs = ladder(withReport({ slots: [waiting('agent.name-held', 'held'), slot('1')] }));
  expect(rungs.get('agents')).toMatchObject({
    state: 'ok',
    findings: [{ code: 'agents.waiting', severity: 'warn' }],
  });
});

test('a broken token stops the pools, and not the host', () => {
  const machine: readonly RungResult[] = [
    { rung: 'token', title: 'token', state: 'broken', code: 'azure.auth', what: 'x', next: 'x' },
  ];
  expect(states(ladder(observed(facts()), { machine }))).toMatchObject({
    manager: 'ok',
    pool: 'blocked',
    queue: 'blocked',
    agents: 'blocked',
  });
});

test.each(['docker', 'toolkit', 'driver'] as const)('%s: none is not for provision to fix', (part) => {
  const none = {
    docker: { version: '29.7.2', left: true },
    toolkit: { version: '1.20.0', left: true },
    driver: { ...host.driver, install: false },
  } as const;
  const bad = facts({
    docker: { active: part !== 'docker' },
    driver: { loaded: part === 'driver' ? undefined : '580.95.05' },
    ...(part === 'toolkit' ? { toolkit: { version: undefined } } : {}),
  });
  const observation = { ...observed(bad), host: { ...host, [part]: none[part] } };
  expect(ladder(observation).get(part)).toMatchObject({ state: 'broken' });
  expect(ladder(observation).get(part)).not.toHaveProperty('fix');
});

test('every code has a rung: those of the manager and unknown ones are the manager’s', () => {
  const codes = [...codeTables, findings].flatMap(({ entries }) => Object.keys(entries));
  const ids = new Set(hostRungs.map(({ id }) => id));
  expect(codes.filter((code) => !ids.has(rungOf(foreignCode(code))))).toEqual([]);
  expect(
    ['gpu.lost', 'xid.79', 'agents.offline', 'dataset.unusable', 'odd'].map((code) =>
      rungOf(foreignCode(code)),
    ),
  ).toEqual(['probe', 'probe', 'agents', 'dataset', 'manager']);
});
