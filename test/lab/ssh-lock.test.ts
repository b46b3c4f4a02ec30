import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import type { LockOwner, Session } from '../../src/fleet/ssh/transport.ts';
import { startDelayProxy } from '../support/delay-proxy.ts';
import { type Sshd, startSshd } from '../support/sshd.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../support/transport.ts';

// The real lock script under a real sshd with a separate /run. Its minute of patience is cut short by the signal that
// timeout(1) gets from its own timer, so that no test waits for a minute and the script is the one that users have.
let sshd: Sshd;
beforeAll(async () => {
  sshd = await startSshd();
});
afterAll(() => sshd.stop());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});

const ann = { who: 'ann@laptop', command: 'azp-fleet provision', since: '2026-11-21T00:00:00Z' };
const bob = { ...ann, who: 'bob@desk' };

async function connect(port = sshd.port): Promise<Session> {
  const transport = testTransport({ config: 'ServerAliveInterval 5\n' });
  transports.push(transport);
  const ssh = sshSpec({ address: '127.0.0.1', port, user: 'root', identityFile: sshd.clientKeyFile });
  return transport.connect({ name: 'box', ssh });
}

/** The process that counts the seconds since the last sign of life of the lock's owner. */
async function patience(session: Session): Promise<string> {
  const script = `ps -o pid=,args= --ppid "$(cat /run/azp-fleet/lock.pid)"`;
  return (await session.script(script)).stdout.trim();
}

async function endPatience(session: Session): Promise<void> {
  const [pid = ''] = (await patience(session)).split(' ');
  await session.script(`kill -ALRM ${pid}`);
}

const taken = (session: Session, owner: LockOwner) =>
  session.lock(owner).then(
    () => 'taken',
    (error: Error) => error.message,
  );

describe('the lock of an owner who vanished', () => {
  test('stands until nothing was heard for a minute, and then is anybody’s', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const vanishing = await connect(proxy.port);
    await vanishing.lock(ann);
    // Bytes are lost from now on and no end is seen, as when a laptop leaves the network.
    proxy.swallow();
    await expect.poll(() => vanishing.closed.aborted).toBe(true);
    const other = await connect();
    expect(await problemOf(other.lock(bob))).toMatchObject({
      code: 'ssh.locked',
      what: 'ann@laptop is working on this host',
    });
    expect(await patience(other)).toMatch(/^\d+ timeout 60 /);
    await endPatience(other);
    await expect.poll(() => taken(other, bob)).toBe('taken');
    proxy.close();
  });
});

describe('the lock of an owner who lives', () => {
  test('is not taken, and each sign of life restarts the minute', async () => {
    const owner = await connect();
    const other = await connect();
    await owner.lock(ann);
    const before = await patience(other);
    await expect.poll(() => patience(other)).not.toBe(before);
    expect((await problemOf(other.lock(bob))).code).toBe('ssh.locked');
    expect((await owner.script('echo at work')).stdout).toBe('at work\n');
  });

  test.each([
    ['ran out while the laptop slept', (other: Session) => endPatience(other)],
    [
      'was broken by another user',
      (other: Session) => other.lock(bob, { break: true }).then(() => undefined),
    ],
  ])('that %s: the owner changes nothing more until it has the lock again', async (_case, lose) => {
    const owner = await connect();
    const other = await connect();
    const lock = await owner.lock(ann);
    await lose(other);
    const work = (): Promise<string> =>
      owner.script('echo changed').then(
        ({ stdout }) => stdout,
        () => problemOf(owner.script('echo changed')).then(({ code }) => code),
      );
    await expect.poll(work).toBe('ssh.lock-lost');
    const upload = owner.upload({ bytes: Buffer.from('x') }, '/run/file', { mode: 0o600 });
    expect(await problemOf(upload)).toMatchObject({ code: 'ssh.lock-lost', host: 'box' });
    await lock.release();
    await other.close();
    await expect.poll(() => taken(owner, ann)).toBe('taken');
    expect((await owner.script('echo changed')).stdout).toBe('changed\n');
  });
});
