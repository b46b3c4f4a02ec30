// Compares the resolved configuration with the system's ssh. `ssh -G` prints most options; it prints files and commands
// expanded only when it connects (-v).
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { describeConnection } from '../../../../../src/fleet/ssh/config/options.ts';
import { SshResolver } from '../../../../../src/fleet/ssh/config/resolver.ts';
import { problemOf, sshSpec } from '../../../../support/transport.ts';

const corpus: readonly (readonly [file: string, hosts: string])[] = [
  ['basics.conf', 'plain quoted other upsilon UPPER upper PLAIN unknown'],
  ['patterns.conf', 'a.lab bad.lab gpu-01 GPU-01 gpu-1 gpu-10 x 192.0.2.7 2001:db8::7 gpu-7.rack1'],
  ['match.conf', 'alias target.example no.example other target2 eq x'],
  ['final.conf', 'short long.example x'],
  ['include.conf', 'included off never-this y.example'],
  ['proxy.conf', 'chain command jump-first no-jump no-command x'],
  ['files.conf', 'several tokens nowhere agent agent-variable agent-default twice strict new x'],
  ['times.conf', 'minutes hours none none-then-set algorithms'],
  ['quoting.conf', 'empty-words proxy-quote equals jump-comment escaped single crlf windows x'],
  ['commands.conf', 'exec-prefix no-keys x'],
  ['canonical.conf', 'localhost other.host'],
];

const folder = mkdtempSync(join(tmpdir(), 'azp-agreement-'));
cpSync(join(import.meta.dirname, '../../../../fixtures/ssh-config'), folder, { recursive: true });
for (const [name] of corpus) {
  const file = join(folder, name);
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('FOLDER', folder));
}

const { homedir: home, username: user } = userInfo();
const env = {
  ...process.env,
  MY_AGENT: '/run/my-agent',
  MY_KEYS: '/keys',
  SSH_AUTH_SOCK: '/run/agent',
  SHELL: '/bin/sh',
};
let resolver: SshResolver;
beforeAll(() => {
  resolver = new SshResolver({ home, user, env, notice: () => undefined, hosts: [] });
});
afterAll(() => {
  resolver.close();
  rmSync(folder, { recursive: true });
});

const resolve = (file: string, host: string) =>
  resolver.resolve(host, sshSpec({ sshConfig: join(folder, file) }));

describe.each(corpus)('%s', (file, hosts) => {
  test.each(hosts.split(' '))('%s', async (host) => {
    const { from, ...ours } = describeConnection(await resolve(file, host));
    const theirs = sshOptions(join(folder, file), host);
    const expected: Record<string, unknown> = {};
    const actual: Record<string, unknown> = {};
    for (const [option, value] of Object.entries(ours)) {
      // Options that are not set have our defaults; files and commands are compared below.
      if (from[option] === 'default' || expanded.has(option)) continue;
      actual[option] = printed(value, spaced.has(option) ? ' ' : ',');
      expected[option] = theirs.get(option) ?? 'nothing';
    }
    for (const option of ['hostname', 'port', 'user', 'proxyjump', 'hostkeyalias']) {
      actual[option] = printed(ours[option], ',');
      expected[option] = theirs.get(option);
    }
    expect(actual).toEqual(expected);
  });
});

describe('options that ssh -G does not expand are expanded as ssh does when it connects', () => {
  test.each([
    ['commands.conf', 'tokens'],
    ['commands.conf', 'exec-prefix'],
    ['commands.conf', 'no-keys'],
    ['quoting.conf', 'proxy-quote'],
    ['proxy.conf', 'command'],
  ])('%s: %s', async (file, host) => {
    const { proxyCommand, identityFiles, identitiesNamed } = await resolve(file, host);
    const verbose = spawnSync('ssh', ['-v', '-F', join(folder, file), '-o', 'BatchMode=yes', host, 'true'], {
      encoding: 'utf8',
      // The command is printed, not run: its output would be mixed with that of ssh.
      env: { ...env, SHELL: '/bin/true' },
      input: '',
    }).stderr;
    expect(`exec ${proxyCommand ?? ''}`).toBe(/Executing proxy command: (.*?)\r?$/m.exec(verbose)?.[1]);
    const keys = [...verbose.matchAll(/^debug1: identity file (.*) type -?\d+\r?$/gm)].map(([, key]) => key);
    if (identitiesNamed)
      expect(identityFiles).toEqual(keys.filter((key) => key?.endsWith('-cert') === false));
  });

  test.each([
    ['unknown-token', 'relay %q', /unknown key %q/],
    ['unknown-in-key', '/keys/%q', /unknown key %q/],
    ['unset-variable', '${MY_KEYS_THAT_ARE_UNSET}/x', /has no value/],
  ])('an option that cannot be expanded is rejected by both: %s', async (host, seen, says) => {
    expect(await problemOf(resolve('commands.conf', host))).toMatchObject({ code: 'ssh.config', host, seen });
    const file = join(folder, 'commands.conf');
    const { stderr } = spawnSync('ssh', ['-F', file, host, 'true'], { encoding: 'utf8', env, input: '' });
    expect(stderr).toMatch(says);
  });

  test.each([
    ['IdentityAgent none', undefined],
    ['IdentityAgent SSH_AUTH_SOCK', '/run/agent'],
    ['IdentityAgent $MY_AGENT', '/run/my-agent'],
    ['IdentityAgent ${MY_AGENT}.2', '/run/my-agent.2'],
    ['IdentityAgent ~/%r.sock', join(home, 'ann.sock')],
    ['', '/run/agent'],
  ])('the agent: %s', async (line, socket) => {
    const file = join(folder, 'agent.conf');
    writeFileSync(file, `${line}\nUser ann\n`);
    const own = new SshResolver({ home, user, env, notice: () => undefined, hosts: [] });
    expect((await own.resolve('x', sshSpec({ sshConfig: file }))).agent).toBe(socket);
    own.close();
  });
});

const expanded = new Set(['identityfile', 'identityagent', 'proxycommand']);
const spaced = new Set(['userknownhostsfile', 'globalknownhostsfile']);

function printed(value: unknown, between: string): string | undefined {
  if (Array.isArray(value)) return value.join(between);
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined;
}

function sshOptions(file: string, host: string): Map<string, string> {
  const output = execFileSync('ssh', ['-F', file, '-G', host], {
    encoding: 'utf8',
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Map(
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => {
        const [option = '', ...value] = line.split(' ');
        return [option, value.join(' ')];
      }),
  );
}
