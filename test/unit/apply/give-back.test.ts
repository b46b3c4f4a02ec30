// When agents that were drained for a change take jobs again.
import { afterEach, describe, expect, it } from 'vitest';

import { applyHost } from '../../../src/apply/apply-host.ts';
import type { Proof } from '../../../src/apply/proof/end-drain.ts';
import { FleetError } from '../../../src/base/errors.ts';
import type { Drain } from '../../../src/contract/drain.ts';
import type { Verdict } from '../../../src/health/verdict.ts';
import { connectionLost } from '../../../src/ssh/failures.ts';
import { lockLost } from '../../../src/ssh/session/lock.ts';
import { merge } from '../../support/host.ts';
import { managerStatus } from '../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

const hosts: FakeHost[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.close()));

const at = '2026-11-21T12:00:00Z';
const left: Drain = { reason: 'driver', at, owner: 'bob@laptop', run: 'run-0' };
const reboot = change('reboot', { reboot: true, disturbs: 'machine' });
const restart = change('restart', { disturbs: 'containers' });
const healthy: Verdict = { state: 'healthy', cause: '', next: '' };
const broken: Verdict = { state: 'failed', cause: 'no GPU is seen', next: 'look at its kernel log' };

async function host(wanted: ConstructorParameters<typeof FakeHost>[0], drains: readonly Drain[] = []) {
  const fake = new FakeHost(wanted);
  hosts.push(fake);
  fake.status = managerStatus({ drains });
  fake.facts = merge(fake.facts, { manager: { unitActive: 'active', status: fake.status } });
  await fake.serveManager(() => undefined);
  return fake;
}

/** A proof that notes its two halves among what is done on the host. */
function proof(fake: FakeHost, verdict: Verdict): Proof {
  return {
    probe: () => {
      fake.log.push('probe');
      return Promise.resolve(verdict);
    },
    prove: async (giveBack) => {
      fake.log.push('probe');
      if (verdict.state === 'healthy') await giveBack();
      fake.log.push('agents');
      return verdict;
    },
  };
}

const apply = (fake: FakeHost, verdict: Verdict) =>
  applyHost(fake.survey(), fake.tools(), { exactFacts: false, proof: proof(fake, verdict) });
/** What was done, without the words of the orders. */
const done = ({ log }: FakeHost) => log.map((line) => line.replace(/^POST \/v1\/(\w+) .*$/, '$1'));
const notes = ({ events }: FakeHost) =>
  events.flatMap((event) => (event.kind === 'note' ? [event.text] : []));

describe('agents that were drained for a change', () => {
  it('take jobs again after the probe and before they are looked for, all under the lock', async () => {
    const fake = await host([restart]);
    expect(await apply(fake, healthy)).toEqual({
      host: 'h200-1',
      state: 'changed',
      changes: 1,
      verdict: healthy,
    });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'probe', 'undrain', 'agents', 'unlock']);
  });

  it('stay drained after a reboot where the probe fails, and the mark and the verdict say so', async () => {
    const fake = await host([reboot]);
    const { verdict } = await apply(fake, broken);
    expect(verdict).toEqual({
      state: 'failed',
      cause: 'no GPU is seen; its agents stay drained',
      next: 'look at its kernel log; then run "azp-fleet provision h200-1": it proves the host and gives its agents back',
    });
    expect(done(fake)).not.toContain('undrain');
    expect(fake.log.findLast((line) => line.startsWith('POST'))).toBe(
      'POST /v1/drain {"owner":"ann@laptop","run":"run-1","reason":"do reboot; not given back: no GPU is seen"}',
    );
    expect(notes(fake)).toEqual(['its agents stay drained: no GPU is seen']);
  });

  it.each([
    ['works', healthy, ['lock', 'drain', 'restart', 'probe', 'undrain', 'unlock']],
    ['does not', broken, ['lock', 'drain', 'restart', 'probe', 'drain', 'unlock']],
  ])('after a change that failed: the probe decides, here it %s', async (_, verdict, expected) => {
    const fake = await host([restart]);
    fake.onRun = () => ({ code: 1, tail: 'no space left' });
    const outcome = await apply(fake, verdict);
    expect(outcome).toMatchObject({ state: 'failed', changes: 0, problem: { code: 'change.failed' } });
    expect(outcome.verdict?.cause).toBe(
      verdict === broken ? 'no GPU is seen; its agents stay drained' : undefined,
    );
    expect(done(fake)).toEqual(expected);
  });

  it('take jobs again where no change was begun', async () => {
    const fake = await host([restart]);
    fake.status = managerStatus({
      drains: [],
      slots: [{ slot: '0', agent: 'a', state: 'busy', gpus: [], since: at, jobsRun: 0 }],
    });
    expect(await apply(fake, broken)).toMatchObject({ state: 'failed', untouched: true });
    expect(done(fake)).toEqual(['lock', 'drain', 'undrain', 'unlock']);
  });

  it('stay drained where Ctrl-C came in the middle of a change', async () => {
    const fake = await host([restart]);
    fake.onRun = () => {
      fake.stop.abort();
      throw new Error('aborted');
    };
    expect(await apply(fake, healthy)).toMatchObject({ state: 'skipped', interrupted: { during: 'change' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'drain', 'unlock']);
    expect(notes(fake)).toEqual([
      'its agents stay drained: interrupted before it was proven; run again to go on',
    ]);
  });

  it('stay drained where Ctrl-C came while the host was proven', async () => {
    const fake = await host([restart]);
    const prove = () => {
      fake.stop.abort();
      return Promise.reject(new Error('aborted'));
    };
    const how = { exactFacts: false, proof: { probe: prove, prove } };
    expect(await applyHost(fake.survey(), fake.tools(), how)).toMatchObject({ state: 'skipped', changes: 1 });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'drain', 'unlock']);
  });
});

/** What an apply comes to whose change goes on as a unit, however it loses sight of it. */
describe('a change that goes on without its run', () => {
  const goesOn = '"do restart" goes on on the host as azp-fleet-change-restart.service';

  /** A host on which it goes on when `end` has come over the run. */
  async function leaving(end: (fake: FakeHost) => Error) {
    const fake = await host([restart]);
    fake.onRun = () => {
      fake.begin('restart');
      throw end(fake);
    };
    return fake;
  }
  const interrupt = (fake: FakeHost) => {
    fake.stop.abort();
    return new Error('aborted');
  };

  it.each<[string, (fake: FakeHost) => Error]>([
    ['Ctrl-C or SIGTERM', interrupt],
    ['the connection, for good in its present form', () => connectionLost('h200-1', 'a change')],
    ['an exception of ours', () => new TypeError('undefined is not a function')],
    [
      'a clock that ran out',
      () => new FleetError({ code: 'ssh.change-timeout', what: 'the change ran out of time' }),
    ],
  ])('keeps the agents from work: %s', async (_, end) => {
    const fake = await leaving(end);
    await apply(fake, healthy);
    expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'drain', 'unlock']);
    expect(fake.log.findLast((line) => line.startsWith('POST'))).toBe(
      'POST /v1/drain {"owner":"ann@laptop","run":"run-1","reason":"do restart; not given back: the run ended before azp-fleet-change-restart.service"}',
    );
    expect(notes(fake)).toEqual([`its agents stay drained: ${goesOn}; run again to follow it`]);
  });

  it('keeps them without a proof, too', async () => {
    const fake = await leaving(() => connectionLost('h200-1', 'a change'));
    await applyHost(fake.survey(), fake.tools(), { exactFacts: false });
    expect(done(fake)).not.toContain('undrain');
  });

  it('says where it goes on and what to do, also where the run has failed', async () => {
    const cut = await leaving(() => connectionLost('h200-1', 'a change'));
    expect((await apply(cut, healthy)).problem?.next).toBe(
      `run the same command again: ${goesOn}, and is followed to its end`,
    );
    const stopped = await leaving(interrupt);
    expect((await apply(stopped, healthy)).interrupted).toEqual({
      during: 'change',
      title: 'do restart',
      goesOn: true,
      unit: 'azp-fleet-change-restart.service',
    });
  });

  it('keeps them where nobody can be asked any more', async () => {
    const fake = await leaving(() => {
      fake.gone = true;
      fake.cut();
      return connectionLost('h200-1', 'a change');
    });
    expect(await apply(fake, healthy)).toMatchObject({ state: 'unreachable' });
    expect(done(fake)).toEqual(['lock', 'drain', 'restart']);
    expect(notes(fake)).toEqual([
      'its agents stay drained: what was begun may still go on on the host; run again to go on',
    ]);
  });

  it('leaves all marks alone where the lock is lost: they are for whoever has it now', async () => {
    const fake = await leaving((each) => {
      each.lockLost = true;
      return lockLost('h200-1');
    });
    expect(await apply(fake, healthy)).toMatchObject({ problem: { code: 'ssh.lock-lost' } });
    expect(done(fake).slice(0, 3)).toEqual(['lock', 'drain', 'restart']);
    expect(done(fake).slice(3)).not.toContain('drain');
    expect(done(fake)).not.toContain('undrain');
  });

  it('is followed by the next run, before anything else and under the lock; then the agents are given back', async () => {
    const fake = await host([restart], [left]);
    fake.begin('restart');
    expect(await apply(fake, healthy)).toMatchObject({ state: 'ok', verdict: healthy });
    expect(done(fake)).toEqual(['lock', 'follow restart', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
    expect(notes(fake)[0]).toBe(
      '"do restart", started by ann@laptop, still runs here: following it to its end',
    );
  });

  it('that fails under the eyes of the next run is made again', async () => {
    const fake = await host([restart], [left]);
    fake.begin('restart');
    fake.onRun = (script) => (script === 'follow restart' ? { code: 100 } : undefined);
    expect(await apply(fake, healthy)).toMatchObject({ state: 'changed', changes: 1 });
    expect(done(fake)).toEqual([
      'lock',
      'follow restart',
      'drain',
      'restart',
      'probe',
      'undrain',
      'agents',
      'unlock',
    ]);
    expect(notes(fake)).toContain(
      '"do restart" has ended with exit code 100; what is still needed is planned again',
    );
  });

  it.each(['ssh.change-died', 'ssh.change-timeout'] as const)(
    'that ends without a result is not the next run’s failure: %s',
    async (code) => {
      const fake = await host([restart], [left]);
      fake.begin('restart');
      fake.onRun = (script) => {
        if (script !== 'follow restart') return undefined;
        fake.end('restart', 143);
        throw new FleetError({ code, what: 'the change restart ended without a result' });
      };
      expect(await apply(fake, healthy)).toMatchObject({ state: 'changed', changes: 1 });
      expect(done(fake).slice(0, 4)).toEqual(['lock', 'follow restart', 'drain', 'restart']);
      expect(notes(fake)).toContain(
        'the change restart ended without a result; what is still needed is planned again',
      );
    },
  );

  it('is left to itself where the next run is interrupted while it follows, and is named', async () => {
    const fake = await host([restart], [left]);
    fake.begin('restart');
    fake.onRun = () => {
      throw interrupt(fake);
    };
    expect(await apply(fake, healthy)).toMatchObject({ state: 'skipped', changes: 0 });
    expect(done(fake)).toEqual(['lock', 'follow restart', 'unlock']);
    expect(notes(fake)).toContain(`${goesOn}; run again to follow it`);
  });
});

describe('agents that an earlier run has left drained', () => {
  it('are given back when the host is proven, and not before', async () => {
    const fake = await host([], [left]);
    expect(await apply(fake, healthy)).toMatchObject({ state: 'ok', verdict: healthy });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
    expect(notes(fake)[0]).toBe(
      'takes over from an interrupted run: whole host drained by run run-0 of bob@laptop: driver, since 2026-11-21 12:00 UTC',
    );
  });

  it('stay so where it cannot be', async () => {
    const fake = await host([], [left]);
    expect(await apply(fake, broken)).toMatchObject({ verdict: { state: 'failed' } });
    expect(done(fake)).toEqual(['lock', 'drain', 'probe', 'agents', 'drain', 'unlock']);
  });

  it('are kept from work while what is left to do is done', async () => {
    const fake = await host([change('config')], [left]);
    await apply(fake, healthy);
    expect(done(fake)).toEqual(['lock', 'drain', 'config', 'probe', 'undrain', 'agents', 'unlock']);
  });
});
