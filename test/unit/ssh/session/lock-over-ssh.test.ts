// The lock on a real sshd. Its minute of patience is cut short by the signal that timeout(1) gets from its own timer.
import { existsSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import type { Session } from '../../../../src/ssh/transport.ts';
import { startDelayProxy } from '../../../support/delay-proxy.ts';
import { type OwnSshd, startOwnSshd } from '../../../support/own-sshd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../support/transport.ts';

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(() => sshd.stop());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
  // The next one wants it free.
  await expect.poll(() => existsSync(sshd.path('run/azp-fleet/lock.owner'))).toBe(false);
});
function connect(port = sshd.port, server = sshd): Promise<Session> {
  const transport = testTransport();
  transports.push(transport);
  return transport.connect(server.target({ port }));
}

const ann = { who: 'ann@laptop', command: "azp-fleet provision it's.yaml", since: '2026-11-21T00:00:00Z' };
const bob = { who: 'bob@desk', command: 'azp-fleet provision', since: '2026-11-21T01:00:00Z' };

async function endPatience(session: Session): Promise<void> {
  const pid = readFileSync(sshd.path('run/azp-fleet/lock.pid'), 'utf8').trim();
  await session.script(`kill -ALRM "$(ps -o pid= --ppid ${pid})"`);
}

describe('the lock', () => {
  test('names who holds it, and is free again when they let go', async () => {
    const [one, two] = [await connect(), await connect()];
    const lock = await one.lock(ann);
    expect(await problemOf(two.lock(bob))).toMatchObject({
      code: 'ssh.locked',
      host: 'box',
      what: 'ann@laptop is working on this host',
      seen: "azp-fleet provision it's.yaml, since 2026-11-21T00:00:00Z",
    });
    await lock.release();
    const theirs = await two.lock(bob);
    expect(theirs.broke).toBeUndefined();
    await theirs.release();
  });

  test('can be broken; who lost it changes nothing more', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.lock(ann);
    const broken = await two.lock(bob, { break: true });
    expect(broken.broke).toEqual(ann);
    const work = () =>
      one.script('echo changed').then(
        ({ stdout }) => stdout,
        ({ problem }: { problem: { code: string } }) => problem.code,
      );
    await expect.poll(work).toBe('ssh.lock-lost');
    const upload = one.upload({ bytes: Buffer.from('x') }, sshd.path('run/file'), { mode: 0o600 });
    expect((await problemOf(upload)).code).toBe('ssh.lock-lost');
    expect((await two.script('echo theirs')).stdout).toBe('theirs\n');
  });

  test('ends with the connection', async () => {
    const one = await connect();
    await one.lock(ann);
    await one.close();
    const two = await connect();
    await expect
      .poll(() =>
        two.lock(bob).then(
          () => 'ours',
          () => 'theirs',
        ),
      )
      .toBe('ours');
  });

  test('of who has vanished is free when nothing was heard for its time', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const vanished = await connect(proxy.port);
    await vanished.lock(ann);
    proxy.swallow();
    const other = await connect();
    expect((await problemOf(other.lock(bob))).code).toBe('ssh.locked');
    await endPatience(other);
    await expect
      .poll(() =>
        other.lock(bob).then(
          () => 'ours',
          () => 'theirs',
        ),
      )
      .toBe('ours');
    proxy.close();
  });

  test('that cannot be taken at all says what the host said', async () => {
    const broken = await startOwnSshd({
      programs: { flock: 'exit 0\n', mkdir: 'echo "read-only file system" >&2; exit 1\n' },
    });
    const session = await connect(broken.port, broken);
    expect(await problemOf(session.lock(ann))).toMatchObject({
      code: 'ssh.lock-failed',
      seen: 'read-only file system',
    });
    await broken.stop();
  });
});
