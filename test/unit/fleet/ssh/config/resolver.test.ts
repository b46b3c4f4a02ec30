import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../../src/fleet/inventory/fleet.ts';
import { describeConnection } from '../../../../../src/fleet/ssh/config/options.ts';
import { SshResolver } from '../../../../../src/fleet/ssh/config/resolver.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

let folder: string;
let file: string;
let notices: string[];
const open: SshResolver[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'azp-resolver-'));
  file = join(folder, 'config');
  notices = [];
});
afterEach(() => {
  for (const resolver of open.splice(0)) resolver.close();
  rmSync(folder, { recursive: true });
});

function resolver(env: Record<string, string | undefined> = {}): SshResolver {
  const { homedir: home, username: user } = userInfo();
  const made = new SshResolver({
    home,
    user,
    env: { PATH: process.env['PATH'], ...env },
    notice: (line) => void notices.push(line),
    hosts: [],
  });
  open.push(made);
  return made;
}

/** The system's ssh with a list of what it was called for, in `calls`. */
function listed(text = 'exec /usr/bin/env -i PATH="${PATH#*:}" ssh "$@"'): Record<string, string> {
  writeFileSync(join(folder, 'ssh'), `#!/bin/sh\necho "$@" >>${folder}/calls\n${text}\n`, { mode: 0o755 });
  return { PATH: `${folder}:${process.env['PATH'] ?? ''}` };
}
const calls = () =>
  existsSync(join(folder, 'calls')) ? readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n') : [];

async function resolve(config: string, spec: Partial<SshSpec> = {}, env = {}, name = 'box') {
  writeFileSync(file, config);
  return resolver(env).resolve(name, sshSpec({ sshConfig: file, ...spec }));
}

describe('the source of a value', () => {
  test('the inventory wins over ssh, ssh over the defaults', async () => {
    const config = 'Host box\n  Port 1\n  User u\n  IdentityFile /keys/second\n  ConnectTimeout 9\n';
    const key = join(folder, 'first');
    writeFileSync(key, '');
    const shown = describeConnection(await resolve(config, { port: 3, identityFile: key }));
    expect(shown).toMatchObject({
      port: 3,
      user: 'u',
      connecttimeout: 9,
      identityfile: [key, '/keys/second'],
      serveraliveinterval: 15,
      serveralivecountmax: 3,
      stricthostkeychecking: 'accept-new',
    });
    expect(shown.from).toMatchObject({
      hostname: 'inventory',
      port: 'inventory',
      identityfile: 'inventory',
      user: 'ssh',
      connecttimeout: 'ssh',
      serveraliveinterval: 'default',
      stricthostkeychecking: 'default',
    });
  });

  test('ssh is run with the address of the inventory', async () => {
    const config = 'Host gpu\n  HostName 192.0.2.1\nHost box\n  User wrong\n';
    const options = await resolve(config, { address: 'gpu' });
    expect(options).toMatchObject({ name: 'box', hostname: '192.0.2.1', user: userInfo().username });
    expect(describeConnection(options).from['hostname']).toBe('ssh');
  });

  test('the jump host of the inventory wins over a ProxyCommand', async () => {
    const options = await resolve('ProxyCommand nc %h %p\n', { jump: 'ann@LAB@gate:23' });
    expect(options).toMatchObject({ jump: ['ann@LAB@gate:23'], proxyCommand: undefined });
  });

  test('only keys pinned in the inventory are accepted', async () => {
    const shown = describeConnection(await resolve('', { hostKeys: ['ssh-ed25519 AAAA'] }));
    expect(shown).toMatchObject({
      stricthostkeychecking: 'true',
      from: { stricthostkeychecking: 'inventory' },
    });
  });
});

describe('our defaults apply only to options that are not configured', () => {
  test.each([
    ['', 'accept-new', 15],
    ['StrictHostKeyChecking ask\n', 'ask', 15],
    ['Host other\n  StrictHostKeyChecking ask\n  ServerAliveInterval 0\n', 'accept-new', 15],
    ['Host b*\n  StrictHostKeyChecking ask\nHost *\n  StrictHostKeyChecking yes\n', 'ask', 15],
    ['StrictHostKeyChecking yes\n', 'true', 15],
    ['StrictHostKeyChecking no\nServerAliveInterval 0\n', 'accept-new', 0],
    ['ServerAliveInterval 2m', 'accept-new', 120],
    ['Include FOLDER/more', 'ask', 0],
  ])('%j', async (config, strictness, alive) => {
    writeFileSync(join(folder, 'more'), 'StrictHostKeyChecking ask\nServerAliveInterval 0\n', {
      mode: 0o600,
    });
    const shown = describeConnection(await resolve(config.replace('FOLDER', folder)));
    expect(shown).toMatchObject({ stricthostkeychecking: strictness, serveraliveinterval: alive });
    expect(shown.from['stricthostkeychecking']).toBe(
      config.startsWith('Include') || /^(Host b\*\n +)?Strict/.test(config) ? 'ssh' : 'default',
    );
  });

  test('the temporary file is removed', async () => {
    const before = readdirSync(tmpdir()).filter((name) => name.startsWith('azp-ssh-config-'));
    await resolve('StrictHostKeyChecking ask\n');
    for (const each of open.splice(0)) each.close();
    expect(readdirSync(tmpdir()).filter((name) => name.startsWith('azp-ssh-config-'))).toEqual(before);
  });
});

test('ForkAfterAuthentication, with which ssh wants a command, and RemoteCommand, with which it refuses one', async () => {
  const options = await resolve('ForkAfterAuthentication yes\nPort 7\n');
  expect([options.port, options.ofSsh.has('forkafterauthentication')]).toEqual([7, true]);
  const both = await resolve('ForkAfterAuthentication yes\nRemoteCommand true\nPort 7\n');
  expect([both.port, both.ofSsh.has('forkafterauthentication')]).toEqual([7, true]);
});

describe('ssh -G is run', () => {
  test('once for each host of a run, and once for its defaults', async () => {
    writeFileSync(file, 'Host b\n  User u\n');
    const one = resolver(listed());
    const spec = sshSpec({ sshConfig: file });
    await Promise.all(['a', 'b', 'a', 'a'].map((name) => one.resolve(name, spec)));
    expect(calls()).toHaveLength(3);
  });

  const names = ['gate', 'gpu-1', 'gpu-2', '192.0.2.7', '127.1', 'Upper', '2001:db8::7'];
  /** Settings of each host by itself, and by a resolver that all share, with its number of calls. */
  const both = async (config: string, more: Partial<SshSpec> = {}) => {
    writeFileSync(file, config);
    const spec = sshSpec({ sshConfig: file, ...more });
    const settings = (by: () => SshResolver) =>
      Promise.all(
        names.map(async (name) =>
          by()
            .resolve(name, spec)
            .then(describeConnection, (error: unknown) => String(error)),
        ),
      );
    const alone = await settings(() => resolver());
    const one = resolver(listed());
    return { alone, shared: await settings(() => one), calls: calls().length };
  };

  test('once for all hosts, where the files have the same settings for each', async () => {
    writeFileSync(join(folder, 'more'), 'Host *\n  Port 99\n', { mode: 0o600 });
    const config = `# Host a 100%\nInclude ${folder}/more\nUser u\n host = *\n  IdentityFile /keys/one\n`;
    const seen = await both(config, { port: 7 });
    expect(seen.shared).toEqual(seen.alone);
    // The first host, ssh's defaults, and each name that ssh may rewrite.
    expect(seen.calls).toBe(5);
  });

  test('once for all hosts, whose ports differ', async () => {
    const one = resolver(listed());
    writeFileSync(file, 'Port 99\nUser u\n');
    const ports = [7, undefined, 8].map(async (port, index) => {
      const spec = sshSpec({ sshConfig: file, ...(port === undefined ? {} : { port }) });
      return (await one.resolve(`gpu-${index}`, spec)).port;
    });
    expect(await Promise.all(ports)).toEqual([7, 99, 8]);
    expect(calls()).toHaveLength(2);
  });

  test('for each host, where its port may change other settings', async () => {
    writeFileSync(join(folder, 'more'), 'Match exec "test %p = 7"\n  User u\n', { mode: 0o600 });
    writeFileSync(file, `Include ${folder}/more\nUser v\n`);
    const one = resolver(listed());
    const users = [7, 8].map(
      async (port) => (await one.resolve(`gpu-${port}`, sshSpec({ sshConfig: file, port }))).user,
    );
    expect(await Promise.all(users)).toEqual(['u', 'v']);
  });

  test('once for all hosts, and each names the lines of an option that is refused', async () => {
    writeFileSync(join(folder, 'more'), 'Port 7\nRekeyLimit 1G\n', { mode: 0o600 });
    writeFileSync(file, `Include ${folder}/more\nUser u\n`);
    const one = resolver(listed());
    for (const name of ['gpu-1', 'gpu-2', 'gpu-3']) {
      const { refused } = await one.resolve(name, sshSpec({ sshConfig: file }));
      expect(refused).toMatchObject([{ keyword: 'RekeyLimit', places: [`${folder}/more:2`] }]);
    }
    expect(calls()).toHaveLength(2);
  });

  test.each([
    'Host gpu-1\n  Port 99\n',
    'Host *\n  Port 1\nHost * !gpu-2\n  User u\n',
    'Match host gpu-2\n  User u\n',
    'Match all\n  User u\n',
    '"Host" gpu-2\n  User u\n',
    'Host=gpu-2\n  User u\n',
    'HostName %h.example\n',
    'Host *\n  ProxyJump gate\n',
    'ProxyCommand nc %h %p\n',
    'Include FOLDER/more\n',
  ])('for each host, where they may have other settings for some: %j', async (config) => {
    writeFileSync(join(folder, 'more'), 'Host *-2\n  User u\n', { mode: 0o600 });
    const seen = await both(config.replace('FOLDER', folder));
    expect(seen.shared).toEqual(seen.alone);
    expect(seen.calls).toBe(names.length + 1);
  });

  test('not if nothing is configured', async () => {
    const options = await resolver(listed()).resolve(
      'Box',
      sshSpec({ sshConfig: 'none', user: 'ann', port: 2222, jump: 'ann@gate:23,two', identityFile: '/k' }),
    );
    expect(calls()).toEqual([]);
    expect(options).toMatchObject({
      hostname: 'box',
      user: 'ann',
      port: 2222,
      jump: ['ann@gate:23', 'two'],
      identityFiles: ['/k'],
      hostKeyPolicy: 'accept-new',
      userKnownHosts: [
        join(userInfo().homedir, '.ssh/known_hosts'),
        join(userInfo().homedir, '.ssh/known_hosts2'),
      ],
    });
  });

  test('without ssh only the inventory counts, which is reported once', async () => {
    writeFileSync(file, 'Host *\n  User u\n  Port 99\n');
    const one = resolver({ PATH: folder });
    const spec = sshSpec({ sshConfig: file, port: 2222 });
    const [options] = await Promise.all([one.resolve('a', spec), one.resolve('b', spec)]);
    expect(options).toMatchObject({ hostname: 'a', port: 2222, user: userInfo().username });
    expect(notices).toEqual([expect.stringMatching(/^ssh is not installed: /)]);
  });

  test('only with the given environment', async () => {
    const config = 'Match exec "test -z $AZP_TOKEN"\n  User clean\nMatch all\n  User inherited\n';
    process.env['AZP_TOKEN'] = 'secret';
    const without = await resolve(config).finally(() => delete process.env['AZP_TOKEN']);
    expect(without.user).toBe('clean');
    expect((await resolve(config, {}, { AZP_TOKEN: 'secret' })).user).toBe('inherited');
  });
});

describe('a configuration that ssh refuses is refused with its message', () => {
  test.each([
    ['a wrong option', 'NoSuchOption yes\n', /config: line 1: Bad configuration option: nosuchoption/],
    ['a value that there is not', 'StrictHostKeyChecking perhaps\n', /line 1: unsupported option "perhaps"/],
    ['an open quote', 'RemoteCommand echo "it is\n', /line 1: invalid quotes/],
    ['a list of nothing it knows', 'Ciphers nonsense\n', /Bad SSH2 cipher spec 'nonsense'/],
  ])('%s', async (_, config, seen) => {
    const problem = await problemOf(resolve(config));
    expect(problem).toMatchObject({ code: 'ssh.config', host: 'box' });
    expect(problem.seen).toMatch(seen);
    expect(problem.next).toBe(`correct these lines, then run: ssh -F ${file} -G box`);
  });

  test('a file that other users can write', async () => {
    const more = join(folder, 'more;id');
    writeFileSync(more, 'User u\n');
    chmodSync(more, 0o666);
    const problem = await problemOf(resolve(`Include ${folder}/more*\n`));
    expect(problem).toMatchObject({
      seen: `Bad owner or permissions on ${more}`,
      next: `remove write access of other users: chmod go-w '${more}'`,
    });
  });

  test('a missing file', async () => {
    const problem = await problemOf(
      resolver().resolve('box', sshSpec({ sshConfig: join(folder, 'absent') })),
    );
    expect(problem.seen).toMatch(/Can't open user config file .*absent/);
  });

  test('its escape sequences are removed', async () => {
    const problem = await problemOf(
      resolve('', {}, listed("printf 'no\\033]0;x\\007 \\033[2J'>&2; exit 255")),
    );
    expect(problem.seen).not.toMatch(/[\u001b\u0007]/);
  });
});

describe('names from hosts and files are never run as code', () => {
  test.each([
    ['an address', '', { address: '$(touch x)' }],
    ['an address that is an option', '', { address: '-oProxyCommand=x' }],
    ['a user', '', { user: '$(touch x); y' }],
    ['a jump host', '', { jump: 'gate,`touch x`' }],
    ['ProxyJump', 'ProxyJump a;b\n', {}],
    ['HostName', 'HostName "$(touch x)"\n', {}],
    ['User', 'User "a`touch x`"\n', {}],
    [
      'a token that becomes one',
      'HostName a%h\nHost box\n  ProxyJump %r-gate\nMatch all\n  User "x y"\n',
      {},
    ],
  ])('%s', async (_, config, spec) => {
    expect(await problemOf(resolve(config, spec))).toMatchObject({ code: 'ssh.config', host: 'box' });
  });

  test('the name of a host without an address', async () => {
    const problem = await problemOf(resolve('Match exec "touch %n"\n', {}, {}, '$(id)'));
    expect(problem.what).toBe('"$(id)" is not the name of a host');
  });
});

describe('an ssh that does not exit or fails', () => {
  test('is stopped with its children when the run ends', async () => {
    writeFileSync(file, `Match exec "sleep 600 & echo $! >${folder}/pid; wait"\n  User u\n`);
    const one = resolver();
    const asked = problemOf(one.resolve('box', sshSpec({ sshConfig: file })));
    await expect
      .poll(() => existsSync(join(folder, 'pid')) && readFileSync(join(folder, 'pid'), 'utf8') !== '')
      .toBe(true);
    one.close();
    expect((await asked).what).toBe('stopped while ssh read its configuration');
    const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'));
    await expect.poll(() => isRunning(pid)).toBe(false);
  });

  test('is stopped if it prints too much', async () => {
    const problem = await problemOf(resolve('', {}, listed('exec yes')));
    expect(problem).toMatchObject({ code: 'ssh.config', seen: 'more than 1 MiB' });
  });
});

test('ways to log in that only the system’s ssh has are reported, except Kerberos enabled by a distribution', async () => {
  const config = 'CertificateFile ~/.ssh/c\nPKCS11Provider none\nKnownHostsCommand /bin/x %H\n';
  expect((await resolve(config)).unsupported).toEqual(['certificatefile']);
  expect((await resolve('GSSAPIAuthentication yes\n')).unsupported).toEqual(['gssapiauthentication']);
  expect((await resolve('GSSAPIAuthentication no\n')).unsupported).toEqual([]);
});

test('included files are reported', async () => {
  const more = join(folder, 'more');
  writeFileSync(more, '', { mode: 0o600 });
  writeFileSync(file, `Host never\n  Include ${more}\n`);
  expect(await resolver().files(file)).toEqual([file, more]);
});

/** Returns whether a process runs; a zombie does not count. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
