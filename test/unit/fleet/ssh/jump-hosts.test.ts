// What holds for a host holds for the jump hosts before it: over real sshds, by the built-in client and by the system's ssh.
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import type { SshSpec } from '../../../../src/fleet/inventory/fleet.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../support/own-sshd.ts';
import { problemOf, type TestTransport, testTransport } from '../../../support/transport.ts';

let box: OwnSshd;
let first: OwnSshd;
let second: OwnSshd;
let stranger: string;
beforeAll(async () => {
  [box, first, second] = await Promise.all([startOwnSshd(), startOwnSshd(), startOwnSshd()]);
  stranger = publicKey(makeKey(join(box.folder, 'stranger')));
});
afterAll(() => Promise.all([box, first, second].map((each) => each.stop())));

const transports: TestTransport[] = [];
afterEach(async () => {
  await Promise.all(transports.splice(0).map((transport) => transport.close()));
});
function open({ known = [], ...options }: Parameters<typeof testTransport>[0] & { known?: OwnSshd[] } = {}) {
  const transport = testTransport(options);
  transports.push(transport);
  const lines = known.map((sshd) => `[127.0.0.1]:${sshd.port} ${sshd.hostKey}\n`);
  if (lines.length > 0) writeFileSync(join(transport.home, '.ssh/known_hosts'), lines.join(''));
  return transport;
}

/** What known_hosts has of a server. */
function isFiled({ home }: TestTransport, sshd: OwnSshd): boolean {
  const file = join(home, '.ssh/known_hosts');
  return existsSync(file) && readFileSync(file, 'utf8').includes(sshd.hostKey);
}

const block = (name: string, sshd: OwnSshd, more = '') => `Host ${name}
  HostName 127.0.0.1
  Port ${sshd.port}
  User ${sshd.user}
  IdentityFile ${sshd.clientKeyFile}
${more}`;
const config = () => block('one', first) + block('two', second);
const logins = (sshd: OwnSshd) => sshd.log().split('Accepted publickey').length - 1;

describe.each<SshSpec['transport']>(['builtin', 'openssh'])('by %s', (transport) => {
  const target = (spec: Partial<SshSpec> = {}, name = 'box') => box.target({ transport, ...spec }, name);
  const through = async (way: TestTransport, spec: Partial<SshSpec> = {}, name = 'box') =>
    (await (await way.connect(target(spec, name))).script('echo through')).stdout;

  describe('the host is strict', () => {
    const strict = { hostKeyPolicy: 'strict' } as const;

    test.each<[string, string, () => OwnSshd[], () => OwnSshd, string]>([
      ['the only hop', 'one', () => [box], () => first, 'one'],
      ['the first of two', 'one,two', () => [box, second], () => first, 'one'],
      ['the second of two', 'one,two', () => [box, first], () => second, 'two'],
    ])('%s with an unknown key is refused, and its key is not stored', async (_, jump, known, bad, name) => {
      const way = open({ config: config(), known: known() });
      const before = logins(bad());
      expect(await problemOf(way.connect(target({ ...strict, jump })))).toMatchObject({
        code: 'ssh.host-key-unknown',
        host: 'box',
        what: expect.stringMatching(`^jump host ${name}: `) as string,
        next: expect.stringMatching(`^ssh -o StrictHostKeyChecking=ask .*@${name} true`) as string,
      });
      expect([isFiled(way, bad()), logins(bad())]).toEqual([false, before]);
    });

    test('hops with known keys are accepted', async () => {
      const way = open({ config: config(), known: [box, first, second] });
      expect(await through(way, { ...strict, jump: 'one,two' })).toBe('through\n');
    });

    test('the same for a hop behind a ProxyCommand', async () => {
      const command = `  ProxyCommand ssh -F none -i ${second.clientKeyFile} -p ${second.port} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -W %h:%p 127.0.0.1\n`;
      const text = block('one', first, command);
      const refused = open({ config: text, known: [box] });
      expect((await problemOf(refused.connect(target({ ...strict, jump: 'one' })))).code).toBe(
        'ssh.host-key-unknown',
      );
      expect(isFiled(refused, first)).toBe(false);
      const before = logins(second);
      const way = open({ config: text, known: [box, first] });
      expect(await through(way, { ...strict, jump: 'one' })).toBe('through\n');
      expect(logins(second)).toBe(before + 1);
    });

    test('ssh_config cannot make the hop less strict', async () => {
      const text = block('one', first, '  StrictHostKeyChecking no\n');
      const way = open({ config: text, known: [box] });
      const problem = await problemOf(way.connect(target({ ...strict, jump: 'one' })));
      expect([problem.code, isFiled(way, first)]).toEqual(['ssh.host-key-unknown', false]);
    });

    test('by ssh_config: a hop without an own setting is as strict', async () => {
      const text = `${config()}Host 127.0.0.1\n  StrictHostKeyChecking yes\n  ProxyJump one\n`;
      const way = open({ config: text, known: [box] });
      const problem = await problemOf(way.connect(target()));
      expect([problem.code, isFiled(way, first)]).toEqual(['ssh.host-key-unknown', false]);
    });

    test('also if a less strict host has accepted the same hop', async () => {
      const way = open({ config: `UserKnownHostsFile /dev/null\n${config()}`, known: [box] });
      expect(await through(way, { jump: 'one', hostKeys: [box.hostKey] }, 'lax')).toBe('through\n');
      const problem = await problemOf(
        way.connect(target({ ...strict, jump: 'one', hostKeys: [box.hostKey] })),
      );
      expect(problem.code).toBe('ssh.host-key-unknown');
    });
  });

  test('a new key of a hop is stored with the policy accept-new', async () => {
    const way = open({ config: config() });
    expect(await through(way, { jump: 'one' })).toBe('through\n');
    expect(isFiled(way, first)).toBe(true);
  });

  describe('a hop that is in the inventory', () => {
    /** The bastion of the inventory: reached by what only the inventory says. */
    const bastion = (spec: Partial<SshSpec> = {}) => first.target(spec, 'bastion');
    const names = [
      ['by its name', () => 'bastion'],
      ['by its address', () => '127.0.0.1'],
      ['by address and port', () => `${first.user}@127.0.0.1:${first.port}`],
      ['by another name that ssh_config has for it', () => 'one'],
      ['as the second hop', () => `two,bastion`],
    ] as const;

    test.each(names)('must have its pinned key %s', async (_, jump) => {
      const way = open({
        config: config(),
        known: [box, second, first],
        hosts: [bastion({ hostKeys: [stranger] })],
      });
      const before = logins(first);
      expect(await problemOf(way.connect(target({ jump: jump() })))).toMatchObject({
        code: 'ssh.host-key-mismatch',
        what: 'jump host bastion: the host key of bastion is not the one pinned in the inventory',
        seen: expect.stringContaining('SHA256:') as string,
        next: expect.stringContaining('then: azp-fleet trust bastion') as string,
      });
      expect(logins(first)).toBe(before);
    });

    test.each(names)(
      'is used with its pin, user, port and key %s, and nothing is stored',
      async (_, jump) => {
        const hosts = [bastion({ hostKeys: [first.hostKey] })];
        const way = open({ config: config(), known: [box, second], hosts });
        expect(await through(way, { jump: jump(), hostKeyPolicy: 'strict' })).toBe('through\n');
        expect(isFiled(way, first)).toBe(false);
      },
    );

    test('must have it although ssh_config trusts another key', async () => {
      const trusting = `KnownHostsCommand /bin/echo * ${first.hostKey}\nVerifyHostKeyDNS yes\n${config()}`;
      const way = open({ config: trusting, known: [box], hosts: [bastion({ hostKeys: [stranger] })] });
      // Without pins of its own, the host would be refused for these options.
      const pinned = target({ jump: 'bastion', hostKeys: [box.hostKey] });
      const before = logins(first);
      expect((await problemOf(way.connect(pinned))).code).toBe('ssh.host-key-mismatch');
      expect(logins(first)).toBe(before);
    });

    test('must have it although the user has an open connection', async () => {
      const shared = `ControlMaster auto\nControlPath ${first.folder}/shared\nControlPersist 60\n`;
      const text = block('one', first, shared.replaceAll(/^/gm, '  '));
      const lax = open({ config: text });
      expect(await through(lax, { jump: 'one' })).toBe('through\n');
      const way = open({ config: text, known: [box], hosts: [bastion({ hostKeys: [stranger] })] });
      expect((await problemOf(way.connect(target({ jump: 'one' })))).code).toBe('ssh.host-key-mismatch');
      spawnSync('ssh', ['-F', join(lax.home, 'config'), '-O', 'exit', 'one']);
    });

    test('behind its own jump host', async () => {
      const hosts = [bastion({ jump: 'two' })];
      const before = logins(second);
      expect(await through(open({ config: config(), hosts }), { jump: 'bastion' })).toBe('through\n');
      expect(logins(second)).toBe(before + 1);
    });

    test('and has the same jump: by defaults is reached without itself', async () => {
      const own = bastion({ jump: 'two,bastion,one', transport });
      const way = open({ config: config(), hosts: [own] });
      const before = [logins(first), logins(second)];
      const session = await way.connect(own);
      expect((await session.script('echo there')).stdout).toBe('there\n');
      expect([logins(first), logins(second)]).toEqual(before.map((count) => count + 1));
    });

    test('and leads back to the host is an error, not a hang', async () => {
      const hosts = [bastion({ jump: 'box' }), target({ jump: 'bastion' })];
      const problem = await problemOf(open({ hosts }).connect(target({ jump: 'bastion' })));
      expect(problem).toMatchObject({ code: 'ssh.jump', host: 'box' });
    });
  });

  describe('a hop without a configured key', () => {
    let shared: OwnSshd;
    beforeAll(async () => {
      shared = await startOwnSshd({ config: [`AuthorizedKeysFile ${box.clientKeyFile}.pub`] });
    });
    afterAll(() => shared.stop());

    test('is offered the key of the host', async () => {
      const jump = `${shared.user}@127.0.0.1:${shared.port}`;
      expect(await through(open(), { jump })).toBe('through\n');
      expect(await through(open({ config: config() }), { jump: `one,${jump}` })).toBe('through\n');
      expect(await through(open({ config: config() }), { jump: `${jump},one` })).toBe('through\n');
    });

    test('is not offered it if ssh_config names another key', async () => {
      const text = block('shared', shared).replace(shared.clientKeyFile, second.clientKeyFile);
      const problem = await problemOf(open({ config: text }).connect(target({ jump: 'shared' })));
      expect(problem).toMatchObject({
        code: 'ssh.auth',
        what: expect.stringMatching(/^jump host shared: /) as string,
      });
    });
  });

  test('a hop that cannot reach the host is reported', async () => {
    const problem = await problemOf(open({ config: config() }).connect(target({ jump: 'one', port: 1 })));
    expect(problem).toMatchObject({
      code: expect.stringMatching(/^ssh\.(refused|jump)$/) as string,
      what: 'the jump host one cannot reach 127.0.0.1:1',
    });
  });
});
