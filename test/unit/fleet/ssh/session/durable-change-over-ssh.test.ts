import { readFileSync, readdirSync, existsSync, rmSync, writeFileSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { startDelayProxy } from '../../../../support/delay-proxy.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { ownSystemd } from '../../../../support/own-systemd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

// Durable changes on a real sshd; a fake systemd runs units detached.

/** While ROOT/slow exists, a lock is not taken to its end. */
const slowSync = `if [ -e ROOT/slow ]; then
  : >ROOT/taking
  while [ -e ROOT/slow ]; do sleep 0.05; done
fi
exec /bin/sync "$@"`;

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd({ programs: { ...ownSystemd, sync: slowSync } });
});
afterAll(() => sshd.stop());

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function connect(port = sshd.port, server = sshd) {
  const transport = testTransport();
  transports.push(transport);
  return transport.connect(server.target({ port }));
}
const change = (id: string, script: string) => ({
  id,
  title: `the change ${id}`,
  script,
  owner: 'ann@laptop',
  totalTimeoutMs: 60_000,
});
const units = () => readdirSync(sshd.path('units'));
const running = (id: string) => units().includes(`azp-fleet-change-${id}.service`);

describe('a durable change', () => {
  test('returns exit code and output, leaves no unit, and can be repeated', async () => {
    const session = await connect();
    const lines: string[] = [];
    const spec = change('plain', 'echo one; echo two >&2; exit 7');
    const result = await session.durable(spec, { onLine: (line) => lines.push(line) });
    expect(result).toEqual({ code: 7, tail: 'one\ntwo\n', resumed: false });
    expect(lines).toEqual(['one', 'two']);
    expect(units()).toEqual([]);
    expect(await session.durable(spec)).toMatchObject({ code: 7, resumed: false });
  });

  test('stops at the first command that fails, and its script is not readable by others', async () => {
    const session = await connect();
    const path = '/var/lib/azp-fleet/changes/strict/script';
    const result = await session.durable(change('strict', `stat -c %a ${path}\nfalse\necho never`));
    expect(result).toMatchObject({ code: 1, tail: '600\n' });
  });

  test('continues after a cut connection: every line comes once, and the lock is taken again', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const session = await connect(proxy.port);
    await session.lock({ who: 'ann@laptop', command: 'azp-fleet provision', since: '' });
    const proceed = sshd.path('proceed');
    const lines: string[] = [];
    const result = await session.durable(
      change(
        'cut',
        `echo "line 1"; printf "line 2 is cut "; until [ -e ${proceed} ]; do sleep 0.05; done; echo whole; echo "line 3"`,
      ),
      {
        onLine: (line) => {
          lines.push(line);
          if (line === 'line 1') proxy.cut();
          if (line.includes('reconnecting')) void connect().then((other) => other.script(`: >${proceed}`));
        },
      },
    );
    expect(result.code).toBe(0);
    expect(lines.filter((line) => line.startsWith('line'))).toEqual([
      'line 1',
      'line 2 is cut whole',
      'line 3',
    ]);
    expect(lines.some((line) => line.includes('reconnecting'))).toBe(true);
    const other = await connect();
    const theirs = other.lock({ who: 'bob@desk', command: 'x', since: '' });
    expect(await problemOf(theirs)).toMatchObject({
      code: 'ssh.locked',
      what: 'ann@laptop is working on this host',
    });
    expect((await session.script('echo on the new connection')).stdout).toBe('on the new connection\n');
    proxy.close();
  });

  test('continues when the next connection is cut, too, while it takes the lock again', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const session = await connect(proxy.port);
    await session.lock({ who: 'ann@laptop', command: 'azp-fleet provision', since: '' });
    const [proceed, slow, taking] = [sshd.path('proceed-again'), sshd.path('slow'), sshd.path('taking')];
    const cutAgain = async (): Promise<void> => {
      await expect.poll(() => existsSync(taking)).toBe(true);
      proxy.cut();
      rmSync(slow);
      await (await connect()).script(`: >${proceed}`);
    };
    let again: Promise<void> | undefined;
    const script = `echo begun; until [ -e ${proceed} ]; do sleep 0.05; done; echo done`;
    const result = await session.durable(change('cut-twice', script), {
      onLine: (line) => {
        if (line !== 'begun') return;
        writeFileSync(slow, '');
        proxy.cut();
        again ??= cutAgain();
      },
    });
    await again;
    expect(result).toMatchObject({ code: 0, tail: 'begun\ndone\n' });
    proxy.close();
  });

  test('is found by a second run, which follows it to the end and names who started it', async () => {
    const first = await connect();
    const proceed = sshd.path('found');
    const script = `echo begun; until [ -e ${proceed} ]; do sleep 0.05; done; echo done; exit 5`;
    const lost = problemOf(first.durable(change('found', script)));
    await expect.poll(() => running('found')).toBe(true);
    await first.close();
    expect((await lost).code).toBe('ssh.connection-lost');
    const second = await connect();
    // It gets earlier output, and lets the change end.
    const onLine = (line: string) => void (line === 'begun' && second.script(`: >${proceed}`));
    const result = await second.follow('found', { onLine });
    expect(result).toEqual({ code: 5, tail: 'begun\ndone\n', resumed: true, startedBy: 'ann@laptop' });
    expect(await second.follow('found')).toBeUndefined();
  });

  test('that is requested while it runs is joined, not started a second time', async () => {
    const [one, two] = [await connect(), await connect()];
    const [proceed, begun] = [sshd.path('joined'), sshd.path('begun')];
    const spec = change(
      'joined',
      `echo x >>${begun}; echo begun; until [ -e ${proceed} ]; do sleep 0.05; done`,
    );
    const first = one.durable(spec);
    await expect.poll(() => existsSync(begun)).toBe(true);
    // It gets earlier output, and lets the change end.
    const onLine = (line: string) => void (line === 'begun' && one.script(`: >${proceed}`));
    const second = two.durable({ ...spec, owner: 'bob@desk' }, { onLine });
    expect(await first).toMatchObject({ code: 0 });
    expect(await second).toMatchObject({ code: 0, resumed: true, startedBy: 'ann@laptop' });
    expect(readFileSync(begun, 'utf8')).toBe('x\n');
  });

  test('that times out, or is killed, is an error', async () => {
    const session = await connect();
    const slow = { ...change('slow', 'echo begun; sleep 60'), totalTimeoutMs: 1000 };
    expect(await problemOf(session.durable(slow))).toMatchObject({ code: 'ssh.change-timeout', host: 'box' });
    const pid = sshd.path('units/azp-fleet-change-killed.service/pid');
    const killed = session.durable(change('killed', 'echo begun; sleep 60'), {
      onLine: (line) =>
        void (line === 'begun' && connect().then((other) => other.script(`kill -KILL "-$(cat ${pid})"`))),
    });
    expect(await problemOf(killed)).toMatchObject({ code: 'ssh.change-died', seen: 'Result=signal' });
    expect(await session.durable(change('killed', 'echo again'))).toMatchObject({ code: 0, tail: 'again\n' });
  });

  test('continues when the CLI is interrupted', async () => {
    const session = await connect();
    const proceed = sshd.path('left');
    const stop = new AbortController();
    const interrupted = session.durable(
      change('left', `until [ -e ${proceed} ]; do sleep 0.05; done; echo end >${proceed}`),
      {
        signal: stop.signal,
      },
    );
    await expect.poll(() => running('left')).toBe(true);
    stop.abort();
    expect((await problemOf(interrupted)).code).toBe('interrupted');
    await session.script(`: >${proceed}`);
    await expect.poll(() => readFileSync(proceed, 'utf8')).toBe('end\n');
  });
});

test('if systemd-run fails, nothing is started, and the error has its output', async () => {
  const refusing = await startOwnSshd({
    programs: { ...ownSystemd, 'systemd-run': 'echo "Failed to connect to bus" >&2; exit 1\n' },
  });
  const session = await connect(refusing.port, refusing);
  expect(await problemOf(session.durable(change('x', 'true')))).toMatchObject({
    code: 'ssh.change-not-started',
    what: 'the change x could not be started: nothing of it has run',
    seen: 'Failed to connect to bus',
  });
  await refusing.stop();
});

describe('a start that is cut', () => {
  /** Returns a `systemd-run` that waits, before it creates the unit or before it answers. */
  const slow = (when: 'before' | 'after') => {
    const wait = ': >ROOT/waits; until [ -e ROOT/go ]; do sleep 0.05; done\n';
    const make = `/bin/sh -c '${ownSystemd['systemd-run'].replaceAll("'", `'\\''`)}' - "$@"\n`;
    return { ...ownSystemd, 'systemd-run': when === 'before' ? wait + make : make + wait };
  };

  test.each(['before', 'after'] as const)('%s its unit is created runs the change once', async (when) => {
    const host = await startOwnSshd({ programs: slow(when) });
    const proxy = await startDelayProxy(host.port, 0);
    const session = await connect(proxy.port, host);
    const ran = host.path('ran');
    let reconnected = false;
    const result = session.durable(change('once', `echo x >>${ran}; echo done`), {
      onLine: (line) => (reconnected ||= line.includes('reconnecting')),
    });
    await expect.poll(() => existsSync(host.path('waits'))).toBe(true);
    proxy.cut();
    await expect.poll(() => reconnected).toBe(true);
    // The first start continues on the host without its connection.
    const other = await connect(host.port, host);
    if (when === 'after') await expect.poll(() => existsSync(ran)).toBe(true);
    await other.script(`: >${host.path('go')}`);
    expect(await result).toEqual({ code: 0, tail: 'done\n', resumed: false });
    expect(readFileSync(ran, 'utf8')).toBe('x\n');
    proxy.close();
    await host.stop();
  });

  test('before its unit was created is repeated by the next connection', async () => {
    const host = await startOwnSshd({
      programs: {
        ...ownSystemd,
        'systemd-run': `[ -e ROOT/second ] || { : >ROOT/second; : >ROOT/waits; until [ -e ROOT/go ]; do sleep 0.05; done; exit 1; }
${ownSystemd['systemd-run']}`,
      },
    });
    const proxy = await startDelayProxy(host.port, 0);
    const session = await connect(proxy.port, host);
    const ran = host.path('ran');
    const result = session.durable(change('lost', `echo x >>${ran}`), {
      onLine: (line) => {
        if (line.includes('reconnecting'))
          void connect(host.port, host).then((other) => other.script(`: >${host.path('go')}`));
      },
    });
    await expect.poll(() => existsSync(host.path('waits'))).toBe(true);
    proxy.cut();
    expect(await result).toMatchObject({ code: 0, resumed: false });
    expect(readFileSync(ran, 'utf8')).toBe('x\n');
    proxy.close();
    await host.stop();
  });
});

describe('while systemd does not answer', () => {
  test('a running change is neither failed nor stopped', async () => {
    const session = await connect();
    const [proceed, silent] = [sshd.path('awake'), sshd.path('deaf')];
    const running = session.durable(
      change('silent', `echo begun; until [ -e ${proceed} ]; do sleep 0.05; done; echo done`),
      { onLine: (line) => void (line === 'begun' && writeFileSync(silent, '')) },
    );
    await expect.poll(() => existsSync(silent)).toBe(true);
    const asked = () => readFileSync(sshd.path('unanswered'), 'utf8').length;
    await expect.poll(() => existsSync(sshd.path('unanswered')) && asked() > 3).toBe(true);
    rmSync(silent);
    writeFileSync(proceed, '');
    expect(await running).toMatchObject({ code: 0, tail: 'begun\ndone\n' });
  });
});
