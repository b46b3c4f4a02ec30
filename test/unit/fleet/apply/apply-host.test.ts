import { afterEach, describe, expect, it } from 'vitest';

import type { Drain } from '../../../../src/shared/contract/drain.ts';
import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { applyHosts } from '../../../../src/fleet/apply/apply.ts';
import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { wavesOf } from '../../../../src/fleet/apply/waves.ts';
import type { AuditEntry } from '../../../../src/fleet/audit/entry.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { HostConnection } from '../../../../src/fleet/apply/connection.ts';
import { executeChange } from '../../../../src/fleet/apply/execute.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { withoutUnread } from '../../../../src/fleet/facts/unread.ts';
import { factDigests } from '../../../../src/fleet/plan/digest.ts';
import type { Change } from '../../../../src/fleet/steps/change.ts';
import { desiredOf, merge } from '../../../support/host.ts';
import { change, shape } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';
import { managerStatus } from '../../../support/manager-status.ts';

const hosts: FakeHost[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.close()));

function hostNeeding(...changes: ConstructorParameters<typeof FakeHost>[0]): FakeHost {
  const host = new FakeHost(changes);
  hosts.push(host);
  return host;
}

const loose = { exactFacts: false };
const awaited = { kind: 'await-manager', configHash: 'x', timeoutS: 60 } as const;
const slot = (state: SlotStatus['state'], job?: string): SlotStatus => ({
  slot: '0',
  agent: 'h200-1-0',
  state,
  gpus: [],
  pool: 'gpu-lab',
  since: '2026-11-21T00:00:00Z',
  jobsRun: 0,
  ...(job === undefined ? {} : { job }),
});
const status = (drained: boolean, ...slots: SlotStatus[]) => managerStatus({ drained, slots });

describe('applying a plan to a host', () => {
  it('runs the changes in order under the lock and emits events', async () => {
    const host = hostNeeding(change('a'), change('b', { durable: false }));
    const outcome = await applyHost(host.survey(), host.tools(), loose);
    expect(outcome).toEqual({ host: 'h200-1', state: 'changed', changes: 2 });
    expect(host.log).toEqual(['lock', 'a', 'b', 'unlock']);
    const ends = host.events.filter((event) => event.kind === 'change-end');
    expect(ends.map(({ id, ok }) => [id, ok])).toEqual([
      ['a', true],
      ['b', true],
    ]);
  });

  it('plans again after each stage and replaces shapes by changes', async () => {
    const host = hostNeeding(change('a'), shape('docker'));
    const survey = host.survey();
    host.onRun = () => void (host.pending = [change('a'), change('b')]);
    expect(await applyHost(survey, host.tools(), loose)).toMatchObject({ state: 'changed', changes: 2 });
  });

  it('counts an announced wait as made if it was not needed', async () => {
    const host = hostNeeding(change('a'), { ...shape('manager'), waits: true });
    const survey = host.survey();
    host.pending = [change('a')];
    expect(await applyHost(survey, host.tools(), loose)).toMatchObject({ state: 'changed', changes: 2 });
  });

  it('skips a wait that was not announced', async () => {
    const wait = { ...change('wait', { step: 'manager' }), actions: [awaited] };
    const host = hostNeeding(change('a'), wait);
    const survey = host.survey();
    const announced = { ...survey, plan: { ...survey.plan, stages: [[change('a')]] } };
    expect(await applyHost(announced, host.tools(), loose)).toMatchObject({ state: 'changed', changes: 1 });
    expect(host.log).toEqual(['lock', 'a', 'unlock']);
  });

  it('reboots with proof, locks again, and continues', async () => {
    const host = hostNeeding(change('reboot', { reboot: true }), change('b'));
    const outcome = await applyHost(host.survey(), host.tools(), loose);
    expect(outcome).toMatchObject({ state: 'changed', changes: 2 });
    expect(host.log).toEqual([
      'lock',
      'reboot',
      'lock',
      expect.stringContaining('is-system-running --wait'),
      'b',
      'unlock',
    ]);
  });

  it('stops before a change that was not announced', async () => {
    const host = hostNeeding(change('a'));
    const survey = host.survey();
    host.pending = [change('a'), change('surprise', { disturbs: 'machine' })];
    const { state, problem } = await applyHost(survey, host.tools(), loose);
    expect(state).toBe('failed');
    expect(problem).toMatchObject({
      code: 'plan.not-announced',
      what: 'stopped before "do surprise": it was not announced',
    });
    expect(host.log).toEqual(['lock', 'unlock']);
  });

  it('fails if a change ran without effect', async () => {
    const host = hostNeeding(change('a'));
    const survey = host.survey();
    const tools = { ...host.tools(), gather: () => Promise.resolve(survey.facts) };
    const { problem } = await applyHost(survey, tools, loose);
    expect(problem).toMatchObject({ code: 'plan.no-effect', step: 'docker', seen: 'a is missing' });
    expect(host.log).toEqual(['lock', 'a', 'unlock']);
  });

  it('fails if new changes are needed in every round', async () => {
    const host = hostNeeding(change('a-0'), shape('docker', 'machine'));
    const survey = host.survey();
    let count = 0;
    host.onRun = () => void (host.pending = [change(`a-${(count += 1)}`)]);
    const { problem, changes } = await applyHost(survey, host.tools(), loose);
    expect(problem?.code).toBe('plan.endless');
    expect(changes).toBe(5);
  });

  it('reports the problem that a failed script printed and makes no more changes', async () => {
    const host = hostNeeding(change('a'), change('b'));
    host.onRun = () => ({
      code: 1,
      tail: 'Reading package lists…\nfailed: no space left\nexpected: 2 GB\nseen: 12 MB\nnext: df -h\n',
    });
    const { problem, state } = await applyHost(host.survey(), host.tools(), loose);
    expect(state).toBe('failed');
    expect(problem).toEqual({
      code: 'change.failed',
      host: 'h200-1',
      step: 'docker',
      what: 'no space left',
      expected: '2 GB',
      seen: '12 MB',
      next: 'df -h',
    });
    expect(host.log).toEqual(['lock', 'a', 'unlock']);
  });

  it.each([
    ['another kernel', { kernel: '6.12.0' }, 'changed: kernel'],
    [
      'a driver of another admin',
      { driver: { loaded: '580.1' }, kernel: '6.12.0' },
      'changed: driver, kernel',
    ],
  ])('refuses a saved plan if the host has changed since: %s', async (_, facts, seen) => {
    const host = hostNeeding(change('a'));
    const survey = host.survey();
    const saved = { ...survey, plan: { ...survey.plan, facts: factDigests(survey.facts) } };
    host.facts = merge(host.facts, facts);
    const { problem } = await applyHost(saved, host.tools(), { exactFacts: true });
    expect(problem).toMatchObject({ code: 'plan.facts-changed', host: 'h200-1', seen });
    expect(host.log).toEqual(['lock', 'unlock']);
  });

  it('refuses a saved plan of another machine', async () => {
    const host = hostNeeding(change('a'));
    const survey = host.survey();
    const saved = {
      ...survey.plan,
      factsDigest: 'x',
      facts: { ...factDigests(survey.facts), machineId: 'x' },
    };
    const { problem } = await applyHost({ ...survey, plan: saved }, host.tools(), { exactFacts: true });
    expect(problem).toMatchObject({ code: 'host.other-machine', host: 'h200-1' });
    expect(host.log).toEqual(['lock', 'unlock']);
  });

  it('stops if another machine answers than the one that was planned', async () => {
    const host = hostNeeding(change('a'), change('b'));
    const survey = host.survey();
    host.onRun = () => {
      host.facts = merge(host.facts, { machineId: 'machine-of-another-host' });
      host.pending = [change('a'), change('b'), change('c')];
      return undefined;
    };
    host.pending = [change('a')];
    expect(await applyHost(survey, host.tools(), loose)).toMatchObject({
      state: 'failed',
      problem: { code: 'host.other-machine', what: expect.stringContaining('machine-id') as string },
    });
    expect(host.log).toEqual(['lock', 'a', 'unlock']);
  });

  it.each<[string, Partial<Change>, string]>([
    ['its title', { title: 'do nothing' }, 'has the title "do nothing"'],
    [
      'its script',
      { actions: [{ kind: 'run', script: 'evil', durable: true, timeoutS: 60, writes: [] }] },
      'has other files or actions',
    ],
  ])('refuses a saved plan that was edited: %s', async (_, edit, differs) => {
    const host = hostNeeding(change('a'));
    const survey = host.survey();
    const saved = { ...survey, plan: { ...survey.plan, stages: [[{ ...change('a'), ...edit }]] } };
    const { problem } = await applyHost(saved, host.tools(), { exactFacts: true });
    expect(problem).toMatchObject({
      code: 'plan.not-announced',
      what: `stopped before "do a": it ${differs} in the saved plan`,
    });
    expect(host.log).toEqual(['lock', 'unlock']);
  });

  it('stops at Ctrl-C after the running change, and reports the changes made', async () => {
    const host = hostNeeding(change('a'), change('b'));
    host.onRun = () => {
      host.stop.abort();
      return undefined;
    };
    expect(await applyHost(host.survey(), host.tools(), loose)).toEqual({
      host: 'h200-1',
      state: 'skipped',
      changes: 1,
    });
    expect(host.log).toEqual(['lock', 'a', 'unlock']);
  });

  it('refuses to execute a change that is not in the plan', async () => {
    const host = hostNeeding();
    const connection = new HostConnection(desiredOf().host, host.tools());
    await expect(
      executeChange(change('a'), [change('a')], connection, 'h200-1', host.tools()),
    ).rejects.toThrow('not in the plan');
    expect(host.log).toEqual([]);
  });
});

describe('a change that disturbs running jobs', () => {
  const at = '2026-11-21T12:00:00Z';
  const person: Drain = { reason: 'fan', at, owner: 'bob@laptop' };
  const left: Drain = { reason: 'restart', at, owner: 'bob@laptop', run: 'run-0' };
  const drain =
    'POST /v1/drain {"reason":"do restart","owner":"ann@laptop","run":"run-1","command":"provision"}';
  const undrainRun = 'POST /v1/undrain {"run":"run-1"}';

  function hostToRestart(before: ManagerStatus): FakeHost {
    const host = hostNeeding(change('restart', { disturbs: 'containers' }));
    host.facts = merge(host.facts, { manager: { unitActive: 'active' } });
    host.status = before;
    return host;
  }
  const notesOf = (host: FakeHost) =>
    host.events.filter((event) => event.kind === 'note').map(({ text }) => text);

  it('waits until they have ended, and enables the agents afterwards', async () => {
    const host = hostToRestart({ ...status(false, slot('busy', 'train')), drains: [] });
    let asked = 0;
    await host.serveManager((path) => {
      if (path === 'GET /v1/status' && (asked += 1) === 3) host.status = status(true, slot('drained'));
    });
    expect(await applyHost(host.survey(), host.tools(), loose)).toMatchObject({ state: 'changed' });
    expect(host.log).toEqual(['lock', drain, 'restart', undrainRun, 'unlock']);
    expect(notesOf(host)).toEqual(['draining: waiting for slot 0 (train)']);
  });

  it('waits for them also where it is unknown whether the manager runs', async () => {
    const host = hostToRestart({ ...status(false, slot('drained')), drains: [] });
    const unknown = [{ fact: 'manager', why: 'no answer in 5 s' }];
    host.facts = merge(host.facts, { manager: { unitActive: undefined }, unknown });
    await host.serveManager(() => undefined);
    await applyHost(host.survey(), host.tools(), loose);
    expect(host.log).toEqual(['lock', drain, 'restart', undrainRun, 'unlock']);
  });

  it.each<[string, ManagerStatus, string[]]>([
    [
      'ends only its own drain',
      { ...status(true, slot('drained')), drains: [person] },
      [drain, 'restart', undrainRun],
    ],
  ])('%s', async (_, before, log) => {
    const host = hostToRestart(before);
    await host.serveManager(() => undefined);
    await applyHost(host.survey(), host.tools(), loose);
    expect(host.log).toEqual(['lock', ...log, 'unlock']);
  });

  it('takes over the drain of an interrupted run, and names its owner', async () => {
    const host = hostToRestart({ ...status(true, slot('drained')), drains: [left] });
    await host.serveManager(() => undefined);
    await applyHost(host.survey(), host.tools(), loose);
    expect(host.log).toEqual(['lock', drain, 'restart', undrainRun, 'unlock']);
    expect(notesOf(host)).toEqual([
      'takes over from an interrupted run: whole host drained by run run-0 of bob@laptop: restart, since 2026-11-21 12:00 UTC',
    ]);
  });

  it('plans without its own drain, which it ends itself', async () => {
    const host = hostToRestart({ ...status(false, slot('drained')), drains: [] });
    const own = { reason: 'do restart', at, owner: 'ann@laptop', run: 'run-1' };
    await host.serveManager((path) => {
      if (path !== 'POST /v1/drain') return;
      const drained = { ...status(true, slot('drained')), drains: [person, own] };
      host.facts = merge(host.facts, { manager: { status: drained } });
    });
    const seen: unknown[] = [];
    const tools = host.tools();
    const plan: typeof tools.plan = (facts, spec) => {
      seen.push(withoutUnread(facts).manager.status?.drains);
      return tools.plan(facts, spec);
    };
    await applyHost(host.survey(), { ...tools, plan }, loose);
    expect(seen).toEqual([undefined, [person]]);
  });

  it('changes nothing if they do not end in time', async () => {
    const host = hostToRestart({ ...status(false, slot('busy', 'train')), drains: [] });
    await host.serveManager(() => undefined);
    const { problem, changes } = await applyHost(host.survey(), host.tools(), loose);
    expect(problem).toMatchObject({
      code: 'plan.drain-timeout',
      seen: 'slot 0 (train) https://dev.azure.com/x/_build?id=7',
    });
    expect(changes).toBe(0);
    expect(host.log).toEqual(['lock', drain, undrainRun, 'unlock']);
  });

  it('calls no manager if none runs', async () => {
    const host = hostNeeding(change('restart', { disturbs: 'containers' }));
    await applyHost(host.survey(), host.tools(), loose);
    expect(host.log).toEqual(['lock', 'restart', 'unlock']);
  });
});

it('hosts that build an image for others come first at any parallelism; outcomes stay in order', async () => {
  const fake = hostNeeding();
  const names = ['a', 'b', 'c'];
  const surveys = names.map((name) => {
    const dockerfile = { folder: '/lab/vision', builder: 'c', push: 'registry.lab/vision' };
    return { ...fake.survey(), host: desiredOf({ name, dockerfile }).host };
  });
  const begun: string[] = [];
  const outcomes = await applyHosts(
    { hosts: surveys, failures: [] },
    {
      fleet: wavesOf([], { hosts: surveys, failures: [] }, { command: 'provision', proven: true }),
      limits: defaultWaves,
    },
    fake.tools({ parallel: 1 }),
    ({ host }) => {
      begun.push(host.name);
      return Promise.resolve({ host: host.name, state: 'ok', changes: 0 });
    },
  );
  expect(begun).toEqual(['c', 'a', 'b']);
  expect(outcomes.map(({ host }) => host)).toEqual(names);
});

describe('the audit file of this machine', () => {
  async function recorded(host: FakeHost): Promise<readonly string[]> {
    const lines: string[] = [];
    const tools = {
      ...host.tools(),
      audit: (event: string, { changes, key = '' }: Pick<AuditEntry, 'changes' | 'key'>, outcome = '') =>
        void lines.push([event, ...changes, key, outcome].join(' ').trim()),
    };
    await applyHost(host.survey(), tools, { exactFacts: false });
    return lines;
  }

  it('gets the announced changes and the key of the login when the lock is taken, and the outcome', async () => {
    const done = await recorded(hostNeeding(change('a'), change('b')));
    expect(done).toEqual(['begin a b SHA256:abc', 'end a b SHA256:abc changed 2']);
    const failing = hostNeeding(change('a'), change('b'));
    failing.onRun = (script) => (script === 'b' ? { code: 1 } : undefined);
    expect(await recorded(failing)).toEqual([
      'begin a b SHA256:abc',
      'end a b SHA256:abc failed 1 change.failed',
    ]);
  });

  it('gets nothing without the lock, as the file of the host', async () => {
    const host = hostNeeding(change('a'));
    host.lockedBy = new FleetError({ code: 'ssh.locked', what: 'bob works on it' });
    expect(await recorded(host)).toEqual([]);
  });
});
