import { expect, it } from 'vitest';

import { HostConnection } from '../../../src/apply/connection.ts';
import { FleetError } from '../../../src/base/errors.ts';
import { desiredOf } from '../../support/host.ts';
import { problemOf } from '../../support/transport.ts';
import { FakeHost } from './fake-fleet.ts';

const locked = new FleetError({ code: 'ssh.locked', what: 'bob@desk is working on this host' });

function connectionTo(fake: FakeHost): HostConnection {
  return new HostConnection(desiredOf().host, fake.tools());
}

it('a session that could not be locked again is used for nothing, however often it is asked for', async () => {
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

it('a session whose lock is lost is used for nothing, the socket of the manager included', async () => {
  const fake = new FakeHost([]);
  const connection = connectionTo(fake);
  await connection.lock();
  fake.lockLost = true;
  expect(await problemOf(connection.session())).toMatchObject({ code: 'ssh.lock-lost', host: 'h200-1' });
});
