// The lock on a real sshd. SIGALRM, as from the timer of timeout(1), ends its minute of silence early.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';

import { machineRoot } from '../../../../../src/shared/base/host-root.ts';
import { hostLockProbe } from '../../../../../src/fleet/facts/probes/host-lock.ts';
import type { Session } from '../../../../../src/fleet/ssh/transport.ts';
import { startDelayProxy } from '../../../../support/delay-proxy.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { ownSystemd } from '../../../../support/own-systemd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd();
});
afterAll(() => sshd.stop());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
  // The next test needs a free lock.
  await expect.poll(() => existsSync(sshd.path('run/azp-fleet/lock.owner'))).toBe(false);
});
function connect(port = sshd.port, server = sshd): Promise<Session> {
  const transport = testTransport();
  transports.push(transport);
  return transport.connect(server.target({ port }));
}

const ann = { who: 'ann@laptop', command: "azp-fleet provision it's.yaml", since: '2026-11-21T00:00:00Z' };
const bob = { who: 'bob@desk', command: 'azp-fleet provision', since: '2026-11-21T01:00:00Z' };

async function endSilenceLimit(session: Session): Promise<void> {
  const pid = readFileSync(sshd.path('run/azp-fleet/lock.pid'), 'utf8').trim();
  await session.script(`kill -ALRM "$(ps -o pid= --ppid ${pid})"`);
}

describe('the lock', () => {
  test('names its owner, and is free again after its release', async () => {
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

  test('is visible to other connections as long as it is held', async () => {
    const [one, two] = [await connect(), await connect()];
    const readLock = async () => {
      const { stdout } = await two.script(hostLockProbe.script({ root: machineRoot }));
      return hostLockProbe.parse(stdout);
    };
    expect(await readLock()).toBeUndefined();
    const lock = await one.lock(ann);
    await expect.poll(readLock).toEqual(ann);
    await lock.release();
    expect(await readLock()).toBeUndefined();
  });

  test('can be broken; the run that lost it changes nothing more', async () => {
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

  test('of a vanished run is free after its time without a heartbeat', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const vanished = await connect(proxy.port);
    await vanished.lock(ann);
    proxy.swallow();
    const other = await connect();
    expect((await problemOf(other.lock(bob))).code).toBe('ssh.locked');
    await endSilenceLimit(other);
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

  test.each([
    ['says nothing', 'exec sleep 60\n', 'no answer within 25 s'],
    ['says more than the limit', 'while :; do echo "held 0 {}"; done\n', 'more than 64 KiB of output'],
  ])('of a host that %s is not waited for forever', async (what, flock, seen) => {
    const odd = await startOwnSshd({ programs: { flock } });
    const session = await connect(odd.port, odd);
    const stop = new AbortController();
    const waiting = problemOf(session.lock(ann, { signal: stop.signal }));
    // Another test covers the timeout; this one aborts.
    if (what === 'says nothing') {
      await expect.poll(() => existsSync(odd.path('run/azp-fleet/lock'))).toBe(true);
      stop.abort();
      expect((await waiting).code).toBe('interrupted');
    } else expect(await waiting).toMatchObject({ code: 'ssh.lock-failed', seen });
    expect((await session.script('echo alive')).stdout).toBe('alive\n');
    await odd.stop();
  });

  test('that cannot be taken has the error of the host', async () => {
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

describe('the lock of a silent run', () => {
  /** Sets the last heartbeat to so many seconds ago. */
  const silent = (seconds: number) => {
    const up = Math.floor(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]));
    writeFileSync(sshd.path('run/azp-fleet/lock.heard'), `${up - seconds}\n`);
  };

  test('is waited for, with the remaining time, and taken when the run ends', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.lock(ann);
    silent(58);
    const waits: string[] = [];
    const taken = two.lock(bob, { onWait: (text) => void (waits.push(text), one.close()) });
    await (await taken).release();
    expect(waits).toEqual([
      expect.stringMatching(
        /^waiting for the lock of ann@laptop \(azp-fleet provision it's.yaml, since 2026-11-21T00:00:00Z\), silent for \d\d s: at most \d s$/,
      ),
    ]);
  });

  test('is refused after that time', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.lock(ann);
    silent(60);
    const onWait = vi.fn<(text: string) => void>();
    expect((await problemOf(two.lock(bob, { onWait }))).code).toBe('ssh.locked');
    expect(onWait).toHaveBeenCalledTimes(1);
  });

  test('is no longer waited for after an abort', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.lock(ann);
    silent(30);
    const stop = new AbortController();
    const waiting = two.lock(bob, { signal: stop.signal, onWait: () => stop.abort() });
    expect((await problemOf(waiting)).code).toBe('interrupted');
  });
});

describe('a lock that was lost', () => {
  test('is taken again on another connection if no other run had it', async () => {
    const [one, two] = [await connect(), await connect()];
    await one.lock(ann);
    await one.close();
    await expect
      .poll(() =>
        two.lock(ann, { again: true }).then(
          () => 'ours',
          ({ problem }: { problem: { code: string } }) => problem.code,
        ),
      )
      .toBe('ours');
  });

  test.each([
    ['has', false, /^bob@desk holds it now \(azp-fleet provision, since 2026-11-21T01:00:00Z\)$/],
    ['had', true, /^bob@desk held it since \(azp-fleet provision, since 2026-11-21T01:00:00Z\)$/],
  ])('is not taken again if another run %s it', async (_, released, seen) => {
    const [one, two] = [await connect(), await connect()];
    await one.lock(ann);
    const theirs = await two.lock(bob, { break: true });
    if (released) await theirs.release();
    await one.close();
    const three = await connect();
    const problem = await problemOf(three.lock(ann, { again: true }));
    expect(problem).toMatchObject({ code: 'ssh.lock-lost', host: 'box', seen: expect.stringMatching(seen) });
    // A new run reads all facts again.
    if (released) await (await three.lock({ ...ann, since: '2026-11-21T02:00:00Z' })).release();
  });

  test('to another run stops the run after a cut, not its running change', async () => {
    const host = await startOwnSshd({ programs: ownSystemd });
    const proxy = await startDelayProxy(host.port, 0);
    const [one, two] = [await connect(proxy.port, host), await connect(host.port, host)];
    await one.lock(ann);
    const proceed = host.path('proceed');
    const spec = { id: 'cut', title: 'the change', owner: ann.who, totalTimeoutMs: 60_000 };
    const script = `echo begun; until [ -e ${proceed} ]; do sleep 0.05; done; echo end >${proceed}`;
    const change = one.durable(
      { ...spec, script },
      {
        onLine: (line) => {
          if (line === 'begun')
            void two
              .lock(bob, { break: true })
              .then((theirs) => theirs.release())
              .then(() => proxy.cut());
        },
      },
    );
    expect(await problemOf(change)).toMatchObject({
      code: 'ssh.lock-lost',
      what: 'this run lost its lock on the host and stopped',
      seen: expect.stringMatching(/^bob@desk held it since/),
    });
    expect((await problemOf(one.script('echo on'))).code).toBe('ssh.lock-lost');
    writeFileSync(proceed, '');
    await expect.poll(() => readFileSync(proceed, 'utf8')).toBe('end\n');
    proxy.close();
    await host.stop();
  });
});
