// Hosts and links that fail in the middle of a run: the next run, or this one, completes it, and says what is wrong.
// Real: CLI, SSH and sshd, systemd, Docker, the manager, reboots, full and noexec file systems. Stand-ins: the GPUs, the
// agent program, Azure DevOps, links that break (a proxy), the clock and the name of an admin's machine, `systemctl`.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { azpFleet, cliEnvironment, command } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { type InventoryChanges, writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { inState } from '../../../practice/lab/paths.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { Terminal } from '../../../practice/lab/terminal.ts';
import type { Session, Target } from '../../../src/fleet/ssh/transport.ts';
import { sha256 } from '../../../src/shared/base/digest.ts';
import { startDelayProxy, type DelayProxy } from '../../support/delay-proxy.ts';
import { problemOf, sshSpec, type TestTransport, testTransport } from '../../support/transport.ts';
import { startCli } from '../support/cli.ts';
import { ManagedHost } from '../support/managed-host.ts';

const prefix = 'hostilessh';
let lab: Lab;
let azure: LabAzure;
let a: LabHost;
let b: LabHost;
let inventory: string;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startStackLab({ prefix, hosts: [{ name: 'a' }, { name: 'b', login: 'sudo' }] });
  azure = await startAzure(prefix, lab.folder, { speed: 20 });
  [a, b] = [lab.host('a'), lab.host('b')];
  inventory = await writeInventory(lab, azure);
  await expectDone(azpFleet(lab.folder, ['provision', inventory, '--yes']));
});
afterAll(() => removeLab(prefix));

const transports: TestTransport[] = [];
const proxies: DelayProxy[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
  for (const proxy of proxies.splice(0)) proxy.close();
});

const words = ({ stdout, stderr }: Output): string => `${stdout}\n${stderr}`.replaceAll(/\s+/g, ' ');

async function expectDone(run: Promise<Output>): Promise<Output> {
  const output = await run;
  expect(output.code, `${output.stdout}\n${output.stderr}`).toBe(0);
  return output;
}

/** Number of changed inventories: each changes the manager's configuration. */
let changed = 0;
function changedInventory(changes: InventoryChanges = {}): Promise<string> {
  changed += 1;
  return writeInventory(lab, azure, {
    ...changes,
    defaults: { limits: { pids: 1000 + changed } },
    file: join(lab.folder, 'changed.yaml'),
  });
}
const pidsOn = async (host: LabHost): Promise<number> => {
  const { stdout } = await host.exec('grep -o \'"pids": *[0-9]*\' /etc/azp-fleet/manager.json | head -n 1');
  return Number(stdout.replaceAll(/\D/g, ''));
};
const provision = (
  file: string,
  hosts: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Output> =>
  azpFleet(lab.folder, ['provision', file, '--limit', hosts, '--yes', '--no-probe'], { env });

/** A link to a host that this test can break. */
async function linkTo(host: LabHost): Promise<DelayProxy> {
  const proxy = await startDelayProxy(22, 0, host.address);
  proxies.push(proxy);
  return proxy;
}

/** Opens a session; `port`: of a link, instead of the host itself. */
async function connect(host: LabHost, port?: number): Promise<Session> {
  const transport = testTransport({ config: 'ServerAliveInterval 5\nConnectTimeout 60\n' });
  transports.push(transport);
  return transport.connect(targetOf(host, port));
}
function targetOf({ name, address, user }: LabHost, port?: number): Target {
  const place = port === undefined ? { address } : { address: '127.0.0.1', port };
  return { name, ssh: sshSpec({ ...place, user, identityFile: lab.key }) };
}

const change = (id: string, script: string) =>
  ({ id, title: `the change ${id}`, script, owner: 'ann@laptop', totalTimeoutMs: 600_000 }) as const;

/** Changes a Node program before it starts. */
const preloaded = (code: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}`,
});

describe('an upload', () => {
  test('that is cut at every 10 % is resumed each time, and is whole at the end', async () => {
    const content = randomBytes(40 * 1024 * 1024);
    const path = '/root/uploaded';
    const begins: number[] = [];
    for (let tenth = 1; tenth <= 10; tenth += 1) {
      const link = await linkTo(a);
      const session = await connect(a, link.port);
      let isFirst = true;
      const onProgress = (sent: number): void => {
        if (isFirst) begins.push(sent);
        isFirst = false;
        if (tenth < 10 && sent >= (content.length * tenth) / 10) link.cut();
      };
      const uploaded = session.upload({ bytes: content }, path, { mode: 0o600, onProgress });
      if (tenth === 10) expect(await uploaded).toBe(true);
      else expect((await problemOf(uploaded)).code).toBe('ssh.connection-lost');
    }
    expect(begins).toEqual(begins.toSorted((one, other) => one - other));
    expect(begins.at(-1)).toBeGreaterThan(content.length / 2);
    const { stdout } = await a.exec(`sha256sum ${path}; ls -A /root | grep -c '\\.part$'; rm ${path}`);
    expect(stdout).toBe(`${sha256(content)}  ${path}\n0\n`);
  });

  test('that fills the disk says so, keeps its part, and is completed when there is space', async () => {
    const content = randomBytes(8 * 1024 * 1024);
    await a.exec('mkdir -p /mnt/small && mount -t tmpfs -o size=4m tmpfs /mnt/small');
    try {
      const session = await connect(a);
      const upload = () => session.upload({ bytes: content }, '/mnt/small/file', { mode: 0o600 });
      expect(await problemOf(upload())).toMatchObject({
        code: 'ssh.upload',
        host: 'a',
        seen: expect.stringMatching(/no space left on device/i) as string,
        next: expect.stringContaining('df -h') as string,
      });
      expect((await a.exec('ls -A /mnt/small')).stdout).toMatch(/^file\.[0-9a-f]{16}\.part\n$/);
      await a.exec('mount -o remount,size=32m /mnt/small');
      expect(await upload()).toBe(true);
      const { stdout } = await a.exec('cd /mnt/small && ls -A && sha256sum <file');
      expect(stdout).toBe(`file\n${sha256(content)}  -\n`);
    } finally {
      await a.exec('umount /mnt/small');
    }
  });
});

test('two admins, from two machines: one works, the other is told who does, and everything is done once', async () => {
  const admin = (name: string) => ({
    ...preloaded(`import os from 'node:os';
import { syncBuiltinESMExports } from 'node:module';
os.hostname = () => '${name}';
syncBuiltinESMExports();`),
    HOME: join(lab.folder, name),
    XDG_STATE_HOME: join(lab.folder, name, 'state'),
  });
  const managed = new ManagedHost(a, azure);
  // Without live-restore the next restart ends all containers: the run waits for the job, with the host's lock.
  await a.exec("echo '{}' >/etc/docker/daemon.json && systemctl restart docker");
  await managed.are('idle');
  const job = await managed.holdJob('a-0');
  try {
    const args = ['provision', inventory, '--yes', '--no-probe'];
    const first = startCli(lab, args, admin('laptop'));
    await first.said(/draining: waiting for/);
    const second = await azpFleet(lab.folder, args, { env: admin('desk') });
    expect(second.code).toBe(1);
    expect(words(second)).toContain('root@laptop is working on this host');
    expect(words(second)).toMatch(/seen azp-fleet provision \S+ --yes --no-probe, since \d{4}-/);
    expect((await job.end())?.result).toBe('succeeded');
    await expectDone(first.done);
    const { stdout } = await expectDone(azpFleet(lab.folder, ['plan', inventory], { env: admin('desk') }));
    expect(stdout).toContain('No changes: 2 hosts up to date.');
    expect((await a.exec('cat /etc/docker/daemon.json')).stdout).toContain('live-restore');
  } finally {
    await managed.endHeldJobs();
  }
});

test.each([1, -1])('the clock of the admin is off by %i day: provision and status work', async (days) => {
  const skewed = preloaded(`const { Date: Real } = globalThis;
const off = ${days * 86_400_000};
globalThis.Date = class extends Real {
  constructor(...args) {
    if (args.length === 0) super(Real.now() + off);
    else super(...args);
  }
  static now() {
    return Real.now() + off;
  }
};`);
  const file = await changedInventory();
  await expectDone(provision(file, 'b', skewed));
  expect(await pidsOn(b)).toBe(1000 + changed);
  const status = await expectDone(azpFleet(lab.folder, ['status', file, '--limit', 'b'], { env: skewed }));
  expect(words(status)).toContain('1 healthy');
});

test('the key of the host changes in the middle of a change: nothing is sent to it, and the change continues', async () => {
  const link = await linkTo(a);
  const session = await connect(a, link.port);
  const key = '/etc/ssh/ssh_host_ed25519_key';
  const lines: string[] = [];
  const script = 'until [ -e /run/go ]; do echo tick; sleep 0.2; done; echo x >>/run/times; echo done';
  const lost = problemOf(session.durable(change('key', script), { onLine: (line) => void lines.push(line) }));
  await expect.poll(() => lines.includes('tick')).toBe(true);
  await a.exec(`set -e
for part in "" .pub; do cp -p ${key}$part /root/key$part; done
rm ${key} ${key}.pub
ssh-keygen -q -t ed25519 -N "" -f ${key}
systemctl reload ssh`);
  try {
    link.cut();
    expect(await lost).toMatchObject({ code: 'ssh.host-key-mismatch', host: 'a' });
  } finally {
    await a.exec(`for part in "" .pub; do mv /root/key$part ${key}$part; done; systemctl reload ssh`);
  }
  await a.exec(': >/run/go');
  const next = await connect(a);
  // It may have ended by itself; then it is not followed, and is not started again.
  await next.follow('key');
  await expect.poll(async () => (await a.exec('cat /run/times')).stdout).toBe('x\n');
});

describe('systemctl', () => {
  /** Puts a program before systemctl that answers `show` by itself. */
  const answersWith = (host: LabHost, shell: string) =>
    host.exec('cat >/usr/local/sbin/systemctl && chmod 755 /usr/local/sbin/systemctl', {
      input: `#!/bin/sh\ncase "$1" in show) ${shell};; esac\nexec /usr/bin/systemctl "$@"\n`,
    });
  afterEach(() =>
    Promise.all(lab.hosts.map((host) => host.exec('cd /usr/local/sbin && rm -f systemctl sleep timeout'))),
  );

  test('that reports a dead unit as running: the exit code counts, and the next change starts', async () => {
    await answersWith(a, 'echo SubState=running; exit 0');
    const session = await connect(a);
    // The first answer of the liar is before the start: a change with this name seems to run.
    await a.exec('mkdir -p /var/lib/azp-fleet/changes/lies && echo 0 >/var/lib/azp-fleet/changes/lies/code');
    expect(await session.durable(change('lies', 'echo x >>/run/lies'))).toMatchObject({ resumed: true });
    await a.exec('rm /usr/local/sbin/systemctl');
    const honest = await session.durable(change('lies', 'echo x >>/run/lies; exit 3'));
    expect(honest).toMatchObject({ code: 3, resumed: false });
    expect((await a.exec('cat /run/lies')).stdout).toBe('x\n');
  });

  test('that reports a running unit as gone: an error, and the change runs once', async () => {
    const session = await connect(a);
    await answersWith(a, 'echo SubState=dead; exit 0');
    const failed = problemOf(
      session.durable(change('gone', 'echo x >>/run/gone; sleep 3; echo y >>/run/gone')),
    );
    expect(await failed).toMatchObject({ code: 'ssh.change-died', host: 'a' });
    await a.exec('rm /usr/local/sbin/systemctl');
    const { stdout } = await a.exec('cat /run/gone');
    expect(stdout).toMatch(/^x\n(y\n)?$/);
  });

  /** The minute for which a change waits for systemd lasts 20 s: its pauses, and its limit of 10 s for an answer, are a third. */
  const quicker = `cd /usr/local/sbin
printf '#!/bin/sh\\nexec /usr/bin/sleep 0.1\\n' >sleep
printf '#!/bin/sh\\ncase $3 in 10) shift 3; set -- -k 1 3 "$@" ;; esac\\nexec /usr/bin/timeout "$@"\\n' >timeout
chmod 755 sleep timeout`;

  test('that hangs, or is missing: after a minute the change is unknown, and nothing was started', async () => {
    // Side by side: each takes as long.
    await Promise.all([answersWith(a, 'exec /usr/bin/sleep 3600'), answersWith(b, 'exit 127')]);
    await Promise.all([a, b].map((host) => host.exec(quicker)));
    const problems = [a, b].map(async (host) => {
      const session = await connect(host);
      return problemOf(session.durable(change('silent', 'echo x >>/run/silent')));
    });
    for (const problem of await Promise.all(problems))
      expect(problem).toMatchObject({ code: 'ssh.change-unknown', expected: 'an answer from systemd' });
    for (const host of [a, b])
      expect((await host.exec('ls /run/silent', { allowFailure: true })).stdout).toBe('');
  });
});

describe('limits of sshd', () => {
  const file = '/etc/ssh/sshd_config.d/00-lab.conf';
  const limit = (host: LabHost, line: string) =>
    host.exec(`cat >${file} && sshd -t && systemctl reload ssh`, { input: `${line}\n` });
  afterEach(() => a.exec(`rm -f ${file}; systemctl reload ssh`));

  test('MaxStartups 1: runs side by side all succeed', async () => {
    await limit(a, 'MaxStartups 1');
    const runs = Array.from({ length: 3 }, () =>
      azpFleet(lab.folder, ['exec', 'a', '-i', inventory, '--', 'echo in']),
    );
    for (const { stdout } of await Promise.all(runs.map(expectDone))) expect(stdout).toBe('── a\nin\n');
  });

  test('MaxSessions 1: a command works; a change is refused with the setting, and changes nothing', async () => {
    await limit(a, 'MaxSessions 1');
    const exec = await expectDone(azpFleet(lab.folder, ['exec', 'a', '-i', inventory, '--', 'echo in']));
    expect(exec.stdout).toBe('── a\nin\n');
    const before = await pidsOn(a);
    const changes = await changedInventory();
    const refused = await provision(changes, 'a');
    expect(refused.code).toBe(1);
    expect(words(refused)).toContain('[ssh.no-session]');
    expect(words(refused)).toContain('set MaxSessions to 10 in /etc/ssh/sshd_config');
    expect(await pidsOn(a)).toBe(before);
    await a.exec(`rm ${file}; systemctl reload ssh`);
    await expectDone(provision(changes, 'a'));
    expect(await pidsOn(a)).toBe(1000 + changed);
  });
});

test('a host that reboots between the plan and its yes: the run connects again and does what was planned', async () => {
  const file = await changedInventory();
  const terminal = new Terminal(
    [process.execPath, command, 'provision', file, '--limit', 'b', '--no-probe'].join(' '),
    { cwd: lab.folder, env: cliEnvironment(lab.folder) },
  );
  try {
    await terminal.see('? Apply these changes to');
    await b.reboot();
    terminal.press('y', 'Enter');
    await terminal.see('[exit 0]');
  } finally {
    terminal.close();
  }
  expect(await pidsOn(b)).toBe(1000 + changed);
});

test('a host whose /tmp and /var/tmp are noexec is provisioned', async () => {
  await a.exec('mount -o remount,noexec /tmp && mount -t tmpfs -o noexec tmpfs /var/tmp');
  try {
    await a.exec("echo '{}' >/etc/docker/daemon.json");
    await expectDone(azpFleet(lab.folder, ['provision', await changedInventory(), '--limit', 'a', '--yes']));
    expect(await pidsOn(a)).toBe(1000 + changed);
    expect((await a.exec('cat /etc/docker/daemon.json')).stdout).toContain('live-restore');
  } finally {
    await a.exec('umount /var/tmp; mount -o remount,exec /tmp');
  }
});

describe('over a link that breaks every 5 s', () => {
  let timer: NodeJS.Timeout;
  let broken: string;
  beforeEach(async () => {
    const link = await startDelayProxy(22, 0, b.address);
    timer = setInterval(() => link.cut(), 5_000);
    proxies.push(link);
    broken = await writeInventory(lab, azure, {
      hosts: { b: { address: '127.0.0.1', port: link.port } },
      file: join(lab.folder, 'broken.yaml'),
    });
  });
  afterEach(() => clearInterval(timer));

  /** Runs a command until it succeeds. Each failure names the host, and a lost connection. */
  async function untilDone(args: readonly string[]): Promise<void> {
    for (let runs = 1; ; runs += 1) {
      const output = await azpFleet(lab.folder, args);
      if (output.code === 0) return;
      expect(output.code, words(output)).toBe(1);
      expect(words(output)).toMatch(/\bb\b.*\[(ssh\.[a-z-]+|manager\.unreachable)\]/);
      // On a slow machine a run makes one change between two cuts.
      expect(runs, words(output)).toBeLessThan(12);
    }
  }

  test('bundle reads the host', async () => {
    const file = join(lab.folder, 'site.bundle');
    const making = startCli(lab, ['bundle', broken, '--limit', 'b', '-o', file], {
      DOCKER_HOST: `unix://${inState('docker.sock')}`,
    });
    // The rest happens on this machine.
    await making.said(/fetching packages in a container|bundle\.hosts/);
    if (!making.stderr().includes('bundle.hosts')) making.child.kill('SIGINT');
    const output = await making.done;
    if (output.code === 1) expect(words(output)).toMatch(/\bb\b.*\[ssh\.[a-z-]+\].*\[bundle\.hosts\]/);
    else expect(output.code, words(output)).toBe(130);
  });

  test('adopt asks the manager', async () => {
    await untilDone(['adopt', 'b', '-i', broken, '--yes']);
  });

  test('remove removes all, and the next provision brings it back', async () => {
    await untilDone(['remove', 'b', '-i', broken, '--yes']);
    const { stdout } = await b.exec('systemctl list-units --all --plain --no-legend "azp-fleet*"');
    expect(stdout).toBe('');
    await expectDone(provision(inventory, 'b'));
  });
});
