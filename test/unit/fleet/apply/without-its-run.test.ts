import { expect, it } from 'vitest';

import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import { connectionLost } from '../../../../src/fleet/ssh/failures.ts';
import { lockLost } from '../../../../src/fleet/ssh/session/lock.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { apply, done, healthy, host, left, notes, restart } from './drained-host.ts';
import type { FakeHost } from './fake-fleet.ts';

// A change that continues as a unit after its run ended: no job may start beside it.

const continues = '"do restart" continues on the host as azp-fleet-change-restart.service';

/** Returns a host whose change still runs after `end` ended the run. */
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
  ['a lost connection', () => connectionLost('h200-1', 'a change')],
  ['a bug of azp-fleet', () => new TypeError('undefined is not a function')],
  ['a timeout', () => new FleetError({ code: 'ssh.change-timeout', what: 'the change ran out of time' })],
])('keeps the agents drained: %s', async (_, end) => {
  const fake = await leaving(end);
  await apply(fake, healthy);
  expect(done(fake)).toEqual(['lock', 'drain', 'restart', 'drain', 'unlock']);
  expect(fake.log.findLast((line) => line.startsWith('POST'))).toBe(
    'POST /v1/drain {"owner":"ann@laptop","run":"run-1","command":"provision","reason":"do restart; still drained: the run ended before azp-fleet-change-restart.service"}',
  );
  expect(notes(fake)).toEqual([`its agents stay drained: ${continues}; run again to follow it`]);
});

it('keeps them drained without a proof, too', async () => {
  const fake = await leaving(() => connectionLost('h200-1', 'a change'));
  await applyHost(fake.survey(), fake.tools(), { exactFacts: false });
  expect(done(fake)).not.toContain('undrain');
});

it('reports its unit and the next action, also if the run has failed', async () => {
  const cut = await leaving(() => connectionLost('h200-1', 'a change'));
  expect((await apply(cut, healthy)).problem?.next).toBe(
    `run the same command again: ${continues}, and the next run waits for its end`,
  );
  const stopped = await leaving(interrupt);
  expect((await apply(stopped, healthy)).interrupted).toEqual({
    during: 'change',
    title: 'do restart',
    continues: true,
    unit: 'azp-fleet-change-restart.service',
  });
});

it('keeps them drained if the host cannot be read any more', async () => {
  const fake = await leaving(() => {
    fake.gone = true;
    fake.cut();
    return connectionLost('h200-1', 'a change');
  });
  expect(await apply(fake, healthy)).toMatchObject({ state: 'unreachable' });
  expect(done(fake)).toEqual(['lock', 'drain', 'restart']);
  expect(notes(fake)).toEqual([
    'its agents stay drained: a change may still run on the host; run again to continue',
  ]);
});

it('leaves all drains unchanged if the lock is lost', async () => {
  const fake = await leaving((each) => {
    each.lockLost = true;
    return lockLost('h200-1');
  });
  expect(await apply(fake, healthy)).toMatchObject({ problem: { code: 'ssh.lock-lost' } });
  expect(done(fake).slice(0, 3)).toEqual(['lock', 'drain', 'restart']);
  expect(done(fake).slice(3)).not.toContain('drain');
  expect(done(fake)).not.toContain('undrain');
});

it('is waited for by the next run under the lock; then the agents are enabled', async () => {
  const fake = await host([restart], [left]);
  fake.begin('restart');
  expect(await apply(fake, healthy)).toMatchObject({ state: 'ok', verdict: healthy });
  expect(done(fake)).toEqual(['lock', 'follow restart', 'drain', 'probe', 'undrain', 'agents', 'unlock']);
  expect(notes(fake)[0]).toBe(
    '"do restart", started by ann@laptop, still runs on the host: waiting for its end',
  );
});

it('is made again if it fails while the next run waits for it', async () => {
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
  'is no failure of the next run if it ends without a result: %s',
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

it('continues and is named if the next run is interrupted while it waits', async () => {
  const fake = await host([restart], [left]);
  fake.begin('restart');
  fake.onRun = () => {
    throw interrupt(fake);
  };
  expect(await apply(fake, healthy)).toMatchObject({ state: 'skipped', changes: 0 });
  expect(done(fake)).toEqual(['lock', 'follow restart', 'unlock']);
  expect(notes(fake)).toContain(`${continues}; run again to follow it`);
});
