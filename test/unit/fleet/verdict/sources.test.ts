// Verdict × source × age, and sources that disagree.
import { describe, expect, test } from 'vitest';

import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { judge } from '../../../../src/fleet/verdict/judge.ts';
import {
  ageText,
  disagreement,
  maxAgeMs,
  oldestOf,
  oldSource,
  type Source,
  sourceAges,
} from '../../../../src/fleet/verdict/sources.ts';
import { statusExitCode, statusRow } from '../../../../src/fleet/status/row.ts';
import type { ManagerStatus } from '../../../../src/shared/contract/status.ts';
import type { Checkup } from '../../../../src/shared/health/checkup.ts';
import { facts, host, now, pool, slot, status } from '../status/observation.ts';

const iso = (ageMs: number): string => new Date(now - ageMs).toISOString();

/** Returns a manager's status in which one source has this age, and the others none. */
const aged: Readonly<Record<Exclude<Source, 'facts'>, (at: string | undefined) => Partial<ManagerStatus>>> = {
  report: (at) => ({ at: at ?? '' }),
  gpus: (at) => ({
    health: {
      ...status().health,
      checkedAt: undefined as never,
      ...(at === undefined ? {} : { checkedAt: at }),
    },
  }),
  connection: (at) => ({
    connection: { to: 'dev.azure.com:443', ...(at === undefined ? {} : { checkedAt: at }) },
  }),
  pool: (at) => ({ pools: [{ name: 'gpu-lab', up: true, ...(at === undefined ? {} : { at }) }] }),
};
const agedSources = Object.keys(maxAgeMs).flatMap((source) =>
  source === 'facts' ? [] : [source as keyof typeof aged],
);
const refused = { code: 'manager.registries', what: 'the passwords cannot be read', next: 'provision it' };
const hot = { code: 'gpu.hot', severity: 'warn', what: 'hot', next: 'cool it' } as const;
const states: readonly (readonly [string, string, Partial<ManagerStatus>])[] = [
  ['healthy', 'healthy', {}],
  ['degraded', 'degraded', { slots: [slot('0'), slot('1', { state: 'quarantined', cause: 'hot' })] }],
  ['failed', 'failed', { problems: [refused] }],
];
const fresh = { at: iso(0), health: { ...status().health, checkedAt: iso(0) } };

const rowOf = (parts: Partial<ManagerStatus>, isListed = true) =>
  statusRow(
    { host, facts: facts({ status: status({ ...fresh, ...parts }) }) },
    () => (isListed ? pool : undefined),
    now,
  );
const exitCode = (row: ReturnType<typeof rowOf>) =>
  statusExitCode([row], { strict: false, drift: false, fleetDrift: false, problems: 0 });

describe.each(states)('a host that is %s', (_, state, parts) => {
  describe.each(agedSources)('by its %s', (source) => {
    const limit = maxAgeMs[source];
    test.each([
      [0, state],
      [limit, state],
      [limit + 1, 'unknown'],
      [3_600_000, 'unknown'],
      // The host's clock was set back.
      [-limit - 1, 'unknown'],
    ])('that is %i ms old', (ageMs, expected) => {
      const row = rowOf({ ...parts, ...aged[source](iso(ageMs)) }, source !== 'pool');
      expect(row.verdict.state).toBe(expected);
      expect(row.oldest?.ageS).toBe(Math.max(0, Math.round(ageMs / 1000)));
      if (ageMs > 1000) expect(row.oldest?.source).toBe(source);
      if (expected === 'unknown')
        expect(row.verdict).toMatchObject({ cause: expect.stringMatching(/manager’s last/u) as string });
      expect(exitCode(row)).toBe(expected === 'healthy' || expected === 'degraded' ? 0 : 1);
    });

    test('that has an invalid time is unknown', () => {
      expect(rowOf({ ...parts, ...aged[source]('noon') }, source !== 'pool').verdict.state).toBe('unknown');
    });
  });

  test('by facts that could not be read: unknown, unless something is worse', () => {
    const unknown = [{ fact: 'others', why: 'no answer in 5 s' }];
    const seen = facts({ status: status({ ...fresh, ...parts }) }, { unknown });
    const row = statusRow({ host, facts: seen }, () => pool, now);
    expect(row.verdict.state).toBe(state === 'failed' ? 'failed' : 'unknown');
    expect(row.findings).toContainEqual(
      expect.objectContaining({
        code: 'facts.incomplete',
        what: 'facts incomplete: others (no answer in 5 s)',
      }),
    );
    expect(exitCode(row)).toBe(1);
  });

  test('has no time of its GPU check or connection test: unknown', () => {
    expect(rowOf({ ...parts, ...aged.gpus(undefined) }).verdict).toMatchObject({ state: 'unknown' });
    expect(rowOf({ ...parts, ...aged.connection(undefined) }).verdict).toMatchObject({ state: 'unknown' });
  });

  test('and has a manager of an earlier version, without members added since, is judged', () => {
    expect(rowOf({ ...parts, ...aged.pool(undefined) }, false).verdict.state).toBe(state);
  });

  test('and whose pools were listed now, whatever the age of the manager’s view', () => {
    expect(rowOf({ ...parts, ...aged.pool(iso(3_600_000)) }).verdict.state).toBe(state);
  });
});

test('facts have no age: the run that judges has read them, and the age of the rest is counted to that moment', () => {
  const seen = facts({ status: status(fresh) }, { time: now + 30_000 });
  const later = now + 3_600_000;
  expect(sourceAges({ facts: seen, agentsIn: () => pool, now: later })[0]).toEqual({
    source: 'facts',
    ageMs: 0,
  });
  expect(statusRow({ host, facts: seen }, () => pool, later)).toMatchObject({
    verdict: { state: 'healthy' },
    oldest: { ageS: 30 },
  });
});

describe('the sources of a verdict', () => {
  const listed = (seen: Parameters<typeof sourceAges>[0]['facts']) =>
    sourceAges({ facts: seen, agentsIn: () => pool, now }).map(({ source, ageMs }) => [source, ageMs]);
  const unlisted = { state: 'healthy', checkedAt: iso(12_000), findings: [] } as const;

  test('a GPU check counts if the facts or the manager show GPUs', () => {
    const gpus = (difference: Parameters<typeof facts>[1], health?: ManagerStatus['health']) =>
      listed(facts({ status: status(health && { health }) }, difference)).some(
        ([source]) => source === 'gpus',
      );
    expect([gpus({}), gpus({}, unlisted), gpus({ gpus: [] })]).toEqual([true, true, true]);
    const unknown = [{ fact: 'gpus', why: 'no answer in 5 s' }];
    expect([gpus({ gpus: [] }, unlisted), gpus({ gpus: [], unknown }, unlisted)]).toEqual([false, false]);
  });

  test('a manager that has not reported has no age', () => {
    const never = [
      ['facts', 0],
      ['report', Infinity],
    ];
    expect(listed(facts({ status: undefined }))).toEqual(never);
    expect(listed(facts({ status: undefined }, { gpus: [] }))).toEqual(never);
  });

  test('the oldest is the one with the greatest valid age', () => {
    const ages = [
      { source: 'report', ageMs: Infinity },
      { source: 'facts', ageMs: 0 },
      { source: 'gpus', ageMs: 5000 },
      { source: 'pool', ageMs: NaN },
    ] as const;
    expect(oldestOf(ages)).toEqual({ source: 'gpus', ageS: 5 });
    expect(oldestOf(ages.slice(0, 1))).toBeUndefined();
  });

  test.each<[Source, number, readonly [string, string][]]>([
    ['facts', 1_000_000, []],
    ['report', 1_000_000, []],
    ['gpus', 180_000, [['health.old', 'the manager’s last GPU check is 3 min old']]],
    ['gpus', 0, [['health.old', 'the manager’s last GPU check is 0 s old']]],
    ['gpus', -180_000, [['health.old', 'the manager’s last GPU check is 3 min in the future']]],
    ['gpus', NaN, [['health.old', 'the manager has no GPU check yet']]],
    ['pool', 600_000, [['manager.old-view', 'the manager’s last view of the pool is 10 min old']]],
  ])('%s of %d ms', (source, ageMs, expected) => {
    expect(oldSource({ source, ageMs }).map(({ code, what }) => [code, what])).toEqual(expected);
  });
});

test('the limits', () => {
  expect(maxAgeMs).toEqual({ facts: 0, report: 90_000, gpus: 120_000, connection: 90_000, pool: 360_000 });
});

test('a fresh probe replaces an old GPU check, and a host without GPUs needs none', () => {
  const old = facts({ status: status({ ...fresh, ...aged.gpus(iso(3_600_000)) }) });
  const probe: Checkup = { verdict: { state: 'healthy', cause: '', next: '' }, findings: [] };
  const view = { host: 'h200-1', facts: old, agentsIn: () => pool, now };
  expect(judge(view).verdict).toMatchObject({
    state: 'unknown',
    cause: 'the manager’s last GPU check is 60 min old',
  });
  expect(judge({ ...view, probe }).verdict.state).toBe('healthy');
  const cpu = facts(
    { status: status({ ...fresh, health: { state: 'healthy', findings: [] } }) },
    { gpus: [] },
  );
  expect(judge({ ...view, facts: cpu }).verdict.state).toBe('healthy');
});

test('an old source is waited for by the proof', () => {
  const seen = facts({ status: status({ ...fresh, ...aged.connection(undefined) }) });
  expect(judge({ host: 'h200-1', facts: seen, agentsIn: () => pool, now }).waiting).toEqual([
    {
      who: 'the manager',
      why: 'the manager has no test of the connection to Azure DevOps yet',
      reported: true,
    },
  ]);
});

test('the verdict by the facts alone has their age', () => {
  const seen = facts({}, { docker: { active: false } });
  expect(judge({ host: 'h200-1', facts: seen, agentsIn: () => pool, now }).oldest).toEqual({
    source: 'facts',
    ageS: 0,
  });
});

test('the facts decide, and the GPU check disagrees: its age counts, too', () => {
  const health = { ...status().health, checkedAt: iso(40_000) };
  const seen = facts({ status: status({ health }) }, { driver: { loaded: undefined } });
  const { verdict, findings, oldest } = judge({ host: 'h200-1', facts: seen, agentsIn: () => pool, now });
  expect(verdict.state).toBe('failed');
  expect(findings.map(({ code }) => code)).toContain('host.sources-disagree');
  expect(oldest).toEqual({ source: 'gpus', ageS: 40 });
});

describe('the facts and the GPU check', () => {
  const noDriver = { driver: { loaded: undefined } };
  const noGpu = { gpus: [] };
  const off = (difference: Parameters<typeof facts>[1], parts: Partial<ManagerStatus> = {}): Facts =>
    facts({ status: status(parts) }, difference);
  const verdictOf = (seen: Facts, probe?: Checkup) =>
    judge({ host: 'h200-1', facts: seen, agentsIn: () => pool, now, ...(probe && { probe }) }).verdict;
  const both = 'the manager’s GPU check (12 s old) lists 2 GPUs and is healthy';

  test.each<[string, Facts, string, string]>([
    [
      'no driver and no GPU, and a healthy manager',
      off({ ...noDriver, ...noGpu }),
      'degraded',
      `the facts (0 s old) show no NVIDIA GPU and no loaded NVIDIA driver, and ${both}`,
    ],
    ['no GPU', off(noGpu), 'degraded', `the facts (0 s old) show no NVIDIA GPU, and ${both}`],
    // Facts are the newer source: without a driver no GPU works.
    ['no driver', off(noDriver), 'failed', 'the NVIDIA kernel module is not loaded (and 1 more)'],
    [
      'neither, as the manager says',
      off({ ...noDriver, ...noGpu }, { health: { state: 'healthy', checkedAt: iso(0), findings: [] } }),
      'healthy',
      '',
    ],
    ['only display cards', off({ ...noGpu, ignoredGpus: facts().gpus }), 'healthy', ''],
    ['no PCI GPU on a Jetson', off({ ...noDriver, ...noGpu, platform: 'jetson' }), 'healthy', ''],
    ['the same GPUs', off({}), 'healthy', ''],
    [
      'no GPU, and a manager that fails',
      off(noGpu, {
        health: { ...status().health, state: 'failed', findings: [{ ...hot, severity: 'fail' }] },
      }),
      'failed',
      'hot',
    ],
  ])('%s', (_, seen, state, cause) => {
    expect(verdictOf(seen)).toMatchObject({ state, cause });
  });
});

describe('the facts and a probe', () => {
  const ages = [
    { source: 'report', ageMs: 90_000 },
    { source: 'gpus', ageMs: 3000 },
  ] as const;
  const gpu = { uuid: 'GPU-1', name: 'NVIDIA H200' };
  const probed = (state: 'healthy' | 'degraded' | 'failed', count: number): Checkup =>
    ({
      verdict: { state, cause: '', next: '' },
      findings: [],
      report: { gpus: Array.from({ length: count }, () => gpu) },
    }) as unknown as Checkup;
  const said = (
    probe: Checkup,
    difference: Parameters<typeof facts>[1] = {},
    seen: typeof ages | [] = ages,
  ) => disagreement({ facts: facts({}, { gpus: [], ...difference }), probe }, seen).map(({ what }) => what);

  test('disagree if it lists GPUs that they lack', () => {
    expect(said(probed('degraded', 1))).toEqual([
      'the facts (0 s old) show no NVIDIA GPU, and the probe (3 s old) lists 1 GPU and is degraded',
    ]);
    expect(said(probed('healthy', 2), {}, [])).toEqual([
      'the facts (0 s old) show no NVIDIA GPU, and the probe (of unknown age) lists 2 GPUs and is healthy',
    ]);
  });

  test('agree if it lists none, fails, or looks elsewhere than they do', () => {
    expect([said(probed('healthy', 0)), said(probed('failed', 2))]).toEqual([[], []]);
    expect(said(probed('healthy', 2), { platform: 'wsl' })).toEqual([]);
  });

  test('do not disagree where they could not be read', () => {
    expect(said(probed('healthy', 2), { unknown: [{ fact: 'gpus', why: 'no answer in 5 s' }] })).toEqual([]);
  });
});

test.each([
  [0, '0 s'],
  [119, '119 s'],
  [120, '2 min'],
  [7140, '119 min'],
  [7200, '2 h'],
])('%i s is shown as %s', (seconds, shown) => {
  expect(ageText(seconds)).toBe(shown);
});
