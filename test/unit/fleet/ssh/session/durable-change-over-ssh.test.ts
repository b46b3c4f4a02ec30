import { readFileSync, readdirSync, existsSync, rmSync, writeFileSync } from 'node:fs';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { startDelayProxy } from '../../../../support/delay-proxy.ts';
import { type OwnSshd, startOwnSshd } from '../../../../support/own-sshd.ts';
import { ownSystemd } from '../../../../support/own-systemd.ts';
import { problemOf, testTransport, type TestTransport } from '../../../../support/transport.ts';

// Changes that outlive us, on a real sshd; systemd is a stand-in that runs units detached.

let sshd: OwnSshd;
beforeAll(async () => {
  sshd = await startOwnSshd({ programs: ownSystemd });
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
  test('gives exit code and output, leaves no unit, and can be made again', async () => {
    const session = await connect();
    const lines: string[] = [];
    const spec = change('plain', 'echo one; echo two >&2; exit 7');
    const result = await session.durable(spec, { onLine: (line) => lines.push(line) });
    expect(result).toEqual({ code: 7, tail: 'one\ntwo\n', resumed: false });
    expect(lines).toEqual(['one', 'two']);
    expect(units()).toEqual([]);
    expect(await session.durable(spec)).toMatchObject({ code: 7, resumed: false });
  });

  test('stops at the first command that fails, and keeps its script from others', async () => {
    const session = await connect();
    const place = '/var/lib/azp-fleet/changes/strict/script';
    const result = await session.durable(change('strict', `stat -c %a ${place}\nfalse\necho never`));
    expect(result).toMatchObject({ code: 1, tail: '600\n' });
  });

  test('goes on through a cut: every line comes once, and the lock is ours again', async () => {
    const proxy = await startDelayProxy(sshd.port, 0);
    const session = await connect(proxy.port);
    await session.lock({ who: 'ann@laptop', command: 'azp-fleet provision', since: '' });
    const gate = sshd.path('gate');
    const lines: string[] = [];
    const result = await session.durable(
      change(
        'cut',
        `echo "line 1"; printf "line 2 is cut "; until [ -e ${gate} ]; do sleep 0.05; done; echo whole; echo "line 3"`,
      ),
      {
        onLine: (line) => {
          lines.push(line);
          if (line === 'line 1') proxy.cut();
          if (line.includes('reconnecting')) void connect().then((other) => other.script(`: >${gate}`));
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

  test('is found by a second run, which follows it to the end and says who began it', async () => {
    const first = await connect();
    const gate = sshd.path('found');
    const script = `echo begun; until [ -e ${gate} ]; do sleep 0.05; done; echo done; exit 5`;
    const lost = problemOf(first.durable(change('found', script)));
    await expect.poll(() => running('found')).toBe(true);
    await first.close();
    expect((await lost).code).toBe('ssh.connection-lost');
    const second = await connect();
    // It hears what was said before it came, and lets the change end.
    const onLine = (line: string) => void (line === 'begun' && second.script(`: >${gate}`));
    const result = await second.follow('found', { onLine });
    expect(result).toEqual({ code: 5, tail: 'begun\ndone\n', resumed: true, startedBy: 'ann@laptop' });
    expect(await second.follow('found')).toBeUndefined();
  });

  test('that is asked for while it runs is joined, not begun a second time', async () => {
    const [one, two] = [await connect(), await connect()];
    const [gate, begun] = [sshd.path('joined'), sshd.path('begun')];
    const spec = change('joined', `echo x >>${begun}; echo begun; until [ -e ${gate} ]; do sleep 0.05; done`);
    const first = one.durable(spec);
    await expect.poll(() => existsSync(begun)).toBe(true);
    // It hears what was said before it came, and lets the change end.
    const onLine = (line: string) => void (line === 'begun' && one.script(`: >${gate}`));
    const second = two.durable({ ...spec, owner: 'bob@desk' }, { onLine });
    expect(await first).toMatchObject({ code: 0 });
    expect(await second).toMatchObject({ code: 0, resumed: true, startedBy: 'ann@laptop' });
    expect(readFileSync(begun, 'utf8')).toBe('x\n');
  });

  test('that runs out of time, or is killed, is no result', async () => {
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

  test('is left to itself when we leave', async () => {
    const session = await connect();
    const gate = sshd.path('left');
    const stop = new AbortController();
    const left = session.durable(
      change('left', `until [ -e ${gate} ]; do sleep 0.05; done; echo end >${gate}`),
      {
        signal: stop.signal,
      },
    );
    await expect.poll(() => running('left')).toBe(true);
    stop.abort();
    expect((await problemOf(left)).code).toBe('interrupted');
    await session.script(`: >${gate}`);
    await expect.poll(() => readFileSync(gate, 'utf8')).toBe('end\n');
  });
});

test('where units cannot be made nothing is begun, and the word of the host is told', async () => {
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
  /** `systemd-run` waits there, before it has made the unit or with its answer, and says so. */
  const slow = (when: 'before' | 'after') => {
    const wait = ': >ROOT/waits; until [ -e ROOT/go ]; do sleep 0.05; done\n';
    const make = `/bin/sh -c '${ownSystemd['systemd-run'].replaceAll("'", `'\\''`)}' - "$@"\n`;
    return { ...ownSystemd, 'systemd-run': when === 'before' ? wait + make : make + wait };
  };

  test.each(['before', 'after'] as const)('%s its unit is made runs the change once', async (when) => {
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
    // The first start goes on, on the host, whether or not anybody hears of it.
    const other = await connect(host.port, host);
    if (when === 'after') await expect.poll(() => existsSync(ran)).toBe(true);
    await other.script(`: >${host.path('go')}`);
    expect(await result).toEqual({ code: 0, tail: 'done\n', resumed: false });
    expect(readFileSync(ran, 'utf8')).toBe('x\n');
    proxy.close();
    await host.stop();
  });

  test('and whose unit was never made, is made good by the next connection', async () => {
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
  test('a change that runs is neither dead nor stopped', async () => {
    const session = await connect();
    const [gate, deaf] = [sshd.path('awake'), sshd.path('deaf')];
    const running = session.durable(
      change('deaf', `echo begun; until [ -e ${gate} ]; do sleep 0.05; done; echo done`),
      { onLine: (line) => void (line === 'begun' && writeFileSync(deaf, '')) },
    );
    await expect.poll(() => existsSync(deaf)).toBe(true);
    const asked = () => readFileSync(sshd.path('unanswered'), 'utf8').length;
    await expect.poll(() => existsSync(sshd.path('unanswered')) && asked() > 3).toBe(true);
    rmSync(deaf);
    writeFileSync(gate, '');
    expect(await running).toMatchObject({ code: 0, tail: 'begun\ndone\n' });
  });
});
