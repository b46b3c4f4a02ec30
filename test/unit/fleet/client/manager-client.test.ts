import { Agent } from 'node:http';
import type { Duplex } from 'node:stream';

import { afterEach, expect, test } from 'vitest';

import { createManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { connectionLost } from '../../../../src/fleet/ssh/failures.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { managerBefore } from '../../../support/release-before.ts';

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

/** An agent of a connection that is lost. */
class LostAgent extends Agent {
  override createConnection(_: unknown, callback?: (error: Error | null, stream: Duplex) => void): null {
    callback?.(connectionLost('h1', 'the start of a command'), undefined as never);
    return null;
  }
}

test('a lost connection is reported as that, and says nothing about the manager', async () => {
  const manager = createManagerClient(new LostAgent(), 'h1', { attempts: 2 });
  await expect(manager.status()).rejects.toMatchObject({
    problem: {
      code: 'ssh.connection-lost',
      host: 'h1',
      next: expect.stringContaining('run the same') as string,
    },
  });
});

test('after a lost connection the next attempt has a new one', async () => {
  const working = await managerBefore();
  closing.push(() => working.close());
  const agents = [new LostAgent(), new LostAgent(), working.agent];
  const manager = createManagerClient(() => Promise.resolve(agents.shift() ?? working.agent), 'h1');
  expect(await manager.status()).toMatchObject({ host: expect.any(String) as string });
  expect(agents).toEqual([]);
});

test('a connection that cannot be opened again ends the call with its reason', async () => {
  const lost = new FleetError({
    code: 'ssh.lock-lost',
    host: 'h1',
    what: 'another run has the lock',
    next: 'run again',
  });
  let opened = 0;
  const manager = createManagerClient(() => {
    opened += 1;
    return Promise.reject(lost);
  }, 'h1');
  await expect(manager.drain({ reason: 'fan' })).rejects.toMatchObject({
    problem: { code: 'ssh.lock-lost' },
  });
  expect(opened).toBe(1);
});
