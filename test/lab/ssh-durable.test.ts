import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Session } from '../../src/fleet/ssh/transport.ts';
import { problemOf, sshSpec, testTransport } from '../support/transport.ts';
import { type Lab, removeLab, startLab } from '../../practice/lab/lab.ts';

// A real machine with systemd; a cut is packets dropped on the way, not a socket closed.
let lab: Lab;
beforeAll(async () => {
  await removeLab('sshd');
  lab = await startLab({
    prefix: 'sshd',
    hosts: [{ name: 'a', release: 'bookworm', login: 'sudo', gpus: [] }],
  });
});
afterAll(() => lab.remove());

/** A cut is seen after three unanswered keep-alives; a busy machine answers within them. */
const config = 'Host *\n  ServerAliveInterval 5\n  ConnectTimeout 60\n';

async function connected(): Promise<{ session: Session; close: () => Promise<void> }> {
  const transport = testTransport({ config });
  const session = await transport.connect({
    name: 'a',
    ssh: sshSpec({ address: lab.host('a').address, user: 'labadmin', identityFile: lab.key }),
  });
  return { session, close: () => transport.close() };
}

function change(id: string, script: string) {
  return { id, title: `the change ${id}`, script, owner: 'ann@laptop', totalTimeoutMs: 1_800_000 };
}

const owner = { who: 'ann@laptop', command: 'azp-fleet provision', since: '2026-11-21T00:00:00Z' };

describe('a durable change', () => {
  test('gives exit code and output, and leaves no unit behind', async () => {
    const { session, close } = await connected();
    const result = await session.durable(change('plain', 'echo one; echo two >&2; exit 7'));
    expect(result).toEqual({ code: 7, tail: 'one\ntwo\n', resumed: false });
    const units = await session.script('systemctl list-units --all --no-legend "azp-fleet-change-*"');
    expect(units.stdout).toBe('');
    await close();
  });

  test('continues after a cut: every line comes once, and the lock is ours again', async () => {
    const { session, close } = await connected();
    await session.lock(owner);
    const lines: string[] = [];
    const running = session.durable(
      change('cut', 'i=0; while [ $i -lt 12 ]; do i=$((i+1)); echo "line $i"; sleep 1; done'),
      {
        onLine: (line) => {
          lines.push(line);
          if (line === 'line 3') void cut();
        },
      },
    );
    const cut = async (): Promise<void> => {
      await lab.host('a').blackHole(true);
      await new Promise((resolve) => session.closed.addEventListener('abort', resolve, { once: true }));
      await lab.host('a').blackHole(false);
    };
    const result = await running;
    expect(result.code).toBe(0);
    expect(lines.filter((line) => line.startsWith('line'))).toEqual(
      Array.from({ length: 12 }, (_value, index) => `line ${index + 1}`),
    );
    expect(lines.some((line) => line.includes('reconnecting'))).toBe(true);
    const second = await connected();
    const problem = await problemOf(second.session.lock({ ...owner, who: 'bob@desk' }));
    expect(problem).toMatchObject({ code: 'ssh.locked', what: 'ann@laptop is working on this host' });
    await second.close();
    expect((await session.script('echo still here')).stdout).toBe('still here\n');
    await close();
  });

  test('is found by a second run, which says who started it and follows it to the end', async () => {
    const first = await connected();
    const script = 'echo begun; until [ -e /run/go ]; do sleep 0.2; done; echo done; exit 5';
    const lost = problemOf(first.session.durable(change('found', script)));
    const second = await connected();
    const state = () => second.session.script('systemctl is-active azp-fleet-change-found');
    await expect.poll(state).toMatchObject({ stdout: 'active\n' });
    await first.close();
    expect(await lost).toMatchObject({ code: 'ssh.connection-lost' });
    const result = await second.session.follow('found', {
      onLine: (line) => {
        if (line === 'begun') void lab.host('a').exec(': >/run/go');
      },
    });
    expect(result).toEqual({ code: 5, tail: 'begun\ndone\n', resumed: true, startedBy: 'ann@laptop' });
    expect(await second.session.follow('found')).toBeUndefined();
    await second.close();
  });

  test('that runs out of time is stopped on the host', async () => {
    const { session, close } = await connected();
    const slow = session.durable({ ...change('slow', 'echo begun; sleep 600'), totalTimeoutMs: 2000 });
    expect(await problemOf(slow)).toMatchObject({ code: 'ssh.change-timeout', host: 'a' });
    await close();
  });

  test('that is cut while it is being started runs once, whatever systemd-run still has to say', async () => {
    const host = lab.host('a');
    // The real one, which answers late.
    await host.exec(`cat >/usr/local/sbin/systemd-run <<'END'
#!/bin/sh
/usr/bin/systemd-run "$@"; c=$?
until [ -e /run/answer ]; do sleep 0.1; done
exit "$c"
END
chmod 755 /usr/local/sbin/systemd-run`);
    const { session, close } = await connected();
    const running = session.durable(change('once', 'echo x >>/run/ran; echo done'));
    await expect.poll(async () => (await host.exec('cat /run/ran 2>/dev/null || :')).stdout).toBe('x\n');
    await host.blackHole(true);
    await new Promise((resolve) => session.closed.addEventListener('abort', resolve, { once: true }));
    await host.blackHole(false);
    await host.exec(': >/run/answer');
    expect(await running).toEqual({ code: 0, tail: 'done\n', resumed: false });
    const left = await host.exec('rm /usr/local/sbin/systemd-run; cat /run/ran');
    expect(left.stdout).toBe('x\n');
    await close();
  });

  test('continues while systemd re-executes itself', async () => {
    const { session, close } = await connected();
    const script = 'for i in 1 2 3; do systemctl daemon-reexec; echo "$i"; sleep 0.5; done';
    expect(await session.durable(change('again', script))).toEqual({
      code: 0,
      tail: '1\n2\n3\n',
      resumed: false,
    });
    await close();
  });

  test('keeps its script out of arguments and away from others', async () => {
    const { session, close } = await connected();
    const seen = await session.durable(
      change(
        'quiet',
        'stat -c "%a %U" /var/lib/azp-fleet/changes/quiet/script; ps -eo args | grep -c "[t]ell-tale" || :',
      ),
    );
    expect(seen.tail).toBe('600 root\n0\n');
    await close();
  });
});

describe('the lock', () => {
  test('names its holder, can be broken, and ends with the connection', async () => {
    const ann = await connected();
    const bob = await connected();
    const bobs = { who: 'bob@desk', command: "azp-fleet provision it's.yaml", since: '2026-11-21T01:00:00Z' };
    await ann.session.lock(owner);
    expect(await problemOf(bob.session.lock(bobs))).toMatchObject({
      code: 'ssh.locked',
      host: 'a',
      seen: 'azp-fleet provision, since 2026-11-21T00:00:00Z',
    });
    const broken = await bob.session.lock(bobs, { break: true });
    expect(broken.broke).toEqual(owner);
    expect(await problemOf(ann.session.lock(owner))).toMatchObject({
      what: 'bob@desk is working on this host',
    });
    await bob.close();
    const again = await ann.session.lock(owner);
    await again.release();
    await ann.close();
  });
});
