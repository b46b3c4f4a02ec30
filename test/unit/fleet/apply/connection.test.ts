// One host's connection after connection losses: when it locks again, breaks a lock, or fails.
import { describe, expect, test } from 'vitest';

import { HostConnection } from '../../../../src/fleet/apply/connection.ts';
import type { FleetEvent } from '../../../../src/fleet/apply/events.ts';
import type { HostTools } from '../../../../src/fleet/apply/apply-tools.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import type { HostLock, LockOptions, Session } from '../../../../src/fleet/ssh/transport.ts';
import { desiredOf } from '../../../support/host.ts';
import { problemOf } from '../../../support/transport.ts';
import { FakeHost } from './fake-fleet.ts';

const bob = { who: 'bob@desk', command: 'azp-fleet provision', since: '2026-11-21T01:00:00Z' };

const held: HostLock = { lost: () => false, release: () => Promise.resolve() };

/** A transport that logs lock requests and closed connections. */
function rig({ breakLock = false, answer }: { breakLock?: boolean; answer?: () => HostLock } = {}) {
  const asked: Pick<LockOptions, 'again' | 'break'>[] = [];
  const events: FleetEvent[] = [];
  const [open, stop] = [new Set<AbortController>(), new AbortController()];
  const lock: Session['lock'] = (_owner, { signal, onWait, ...how } = {}) => {
    asked.push(how);
    expect(signal).toBe(stop.signal);
    onWait?.('waiting');
    return new Promise((resolve) => resolve(answer?.() ?? held));
  };
  const connect = (): Promise<Session> => {
    const closed = new AbortController();
    open.add(closed);
    const close = () => {
      open.delete(closed);
      closed.abort();
      return Promise.resolve();
    };
    return Promise.resolve({ host: 'box', closed: closed.signal, lock, close } as Session);
  };
  const tools = {
    transport: { connect, close: () => Promise.resolve() },
    owner: { who: 'ann@laptop', command: 'azp-fleet provision', since: '' },
    emit: (event: FleetEvent) => events.push(event),
    signal: stop.signal,
    options: { parallel: 1, drainTimeoutMs: 1, breakLock },
  } as unknown as HostTools;
  const cut = () => {
    for (const each of open) each.abort();
    open.clear();
  };
  return { connection: new HostConnection(desiredOf().host, tools), asked, events, open, cut };
}

const lost = (): HostLock => {
  throw new FleetError({ code: 'ssh.lock-lost', host: 'box', what: 'lost', next: 'run it again' });
};

describe('the lock of a connection', () => {
  test('is requested again, as this run’s, after each connection loss', async () => {
    const { connection, asked, cut } = rig();
    await connection.session();
    await connection.lock();
    await connection.lock();
    cut();
    await connection.session();
    await connection.drop();
    await connection.session();
    expect(asked).toEqual([{ break: false }, { again: true }, { again: true }]);
    await connection.unlock();
    cut();
    await connection.session();
    expect(asked).toHaveLength(3);
  });

  test('is broken once: neither after a connection loss nor on the second request', async () => {
    const { connection, asked, events, cut } = rig({
      breakLock: true,
      answer: () => ({ ...held, broke: bob }),
    });
    await connection.lock();
    cut();
    await connection.session();
    await connection.unlock();
    await connection.lock();
    expect(asked).toEqual([{ break: true }, { again: true }, { break: false }]);
    expect(events).toContainEqual({
      kind: 'note',
      host: 'h200-1',
      text: 'broke the lock of bob@desk (azp-fleet provision, since 2026-11-21T01:00:00Z)',
    });
  });

  test('may still be broken if the first request failed', async () => {
    const answers = [lost];
    const { connection, asked } = rig({
      breakLock: true,
      answer: () => answers.pop()?.() ?? held,
    });
    await expect(connection.lock()).rejects.toThrow('lost');
    await connection.lock();
    expect(asked).toEqual([{ break: true }, { break: true }]);
  });

  test('emits a note while it waits', async () => {
    const { connection, events } = rig();
    await connection.lock();
    expect(events).toEqual([{ kind: 'note', host: 'h200-1', text: 'waiting' }]);
  });

  test('that another user had since: every request for a session fails', async () => {
    let answer: () => HostLock = () => held;
    const { connection, open, cut } = rig({ answer: () => answer() });
    await connection.lock();
    cut();
    answer = lost;
    await expect(connection.session()).rejects.toThrow('lost');
    await expect(connection.session()).rejects.toThrow('lost');
    expect(open.size).toBe(0);
    await connection.close();
    expect(open.size).toBe(0);
  });
});

const locked = new FleetError({ code: 'ssh.locked', what: 'bob@desk is working on this host' });

function connectionTo(fake: FakeHost): HostConnection {
  return new HostConnection(desiredOf().host, fake.tools());
}

test('a session that could not be locked again is never returned', async () => {
  const fake = new FakeHost([]);
  const connection = connectionTo(fake);
  await connection.lock();
  fake.cut();
  fake.lockedBy = locked;
  expect(await problemOf(connection.session())).toMatchObject({ code: 'ssh.locked' });
  expect(await problemOf(connection.session())).toMatchObject({ code: 'ssh.locked' });
  fake.lockedBy = undefined;
  expect((await connection.session()).closed.aborted).toBe(false);
  expect(fake.log).toEqual(['lock', 'lock']);
});

test('a session whose lock is lost is not used, not even for the manager’s socket', async () => {
  const fake = new FakeHost([]);
  const connection = connectionTo(fake);
  await connection.lock();
  fake.lockLost = true;
  expect(await problemOf(connection.session())).toMatchObject({ code: 'ssh.lock-lost', host: 'h200-1' });
});
