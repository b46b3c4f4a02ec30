import {
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { useSshHome } from '../../../../support/ssh-home.ts';

const { cwd, ssh, config, hosts, inventory, azpFleet, write, theirs } = useSshHome();

describe("the user's own ~/.ssh", () => {
  const own = 'Host mine\n  HostName 192.0.2.1\n';
  beforeEach(() => inventory('  gpu-1: { address: 192.0.2.11 }\n'));

  test('nothing is written without --write', async () => {
    const { stdout } = await azpFleet('ssh-config -i lab.yaml');
    expect(readdirSync(ssh)).toEqual([]);
    const printed = join(cwd, 'printed');
    writeFileSync(printed, stdout);
    expect(theirs('gpu-1', printed)['hostname']).toEqual(['192.0.2.11']);
    expect(stdout).toContain(`#   Include ${hosts}\n`);
    expect(stdout).toContain('--write');
  });

  test.each([
    ['nothing', undefined],
    ['a file', own],
    ['a file without its last line break', own.trimEnd()],
    ['line breaks of Windows', own.replaceAll('\n', '\r\n')],
    ['bytes that are no text', Buffer.from([0x23, 0xff, 0xfe, 0x0a, ...Buffer.from(own)])],
    ['options before the first host', `ServerAliveInterval 5\n\n${own}`],
  ])('%s is unchanged after --remove, and keeps each byte in between', async (_, before) => {
    if (before !== undefined) writeFileSync(config, before, { mode: 0o640 });
    const bytes = Buffer.from(before ?? '');
    await write();
    await write();
    const text = readFileSync(config);
    expect(text.subarray(text.length - bytes.length)).toEqual(bytes);
    expect(text.toString().match(/^Include /gm)).toHaveLength(1);
    expect(statSync(config).mode & 0o777).toBe(before === undefined ? 0o600 : 0o640);
    expect(statSync(hosts).mode & 0o777).toBe(0o600);
    expect(theirs('gpu-1')['hostname']).toEqual(['192.0.2.11']);
    if (before !== undefined) expect(theirs('mine')['hostname']).toEqual(['192.0.2.1']);
    expect(await azpFleet('ssh-config --remove')).toMatchObject({ exitCode: 0 });
    expect(readdirSync(ssh)).toEqual(before === undefined ? [] : ['config']);
    if (before !== undefined) expect(readFileSync(config)).toEqual(bytes);
    expect((await azpFleet('ssh-config --remove')).stdout).toContain('nothing');
  });

  test('moved or shortened lines are removed as well', async () => {
    await write();
    writeFileSync(config, `${own}\nInclude ${hosts}\n# the end\n`);
    await azpFleet('ssh-config --remove');
    expect(readFileSync(config, 'utf8')).toBe(`${own}\n# the end\n`);
  });

  test('a link stays a link, and its target is written', async () => {
    const real = join(cwd, 'dotfiles');
    writeFileSync(real, own, { mode: 0o644 });
    symlinkSync(real, config);
    await write();
    expect(lstatSync(config).isSymbolicLink()).toBe(true);
    expect(readFileSync(real, 'utf8')).toMatch(/Include[^]*Host mine/);
    await azpFleet('ssh-config --remove');
    expect(readFileSync(real, 'utf8')).toBe(own);
  });

  test('~/.ssh is created if it does not exist', async () => {
    rmSync(ssh, { recursive: true });
    await write();
    expect(statSync(ssh).mode & 0o777).toBe(0o700);
    expect(theirs('gpu-1')['hostname']).toEqual(['192.0.2.11']);
  });

  test('a file of that name by another program is unchanged', async () => {
    writeFileSync(hosts, 'Host of-mine\n');
    for (const line of ['ssh-config -i lab.yaml --write', 'ssh-config --remove']) {
      const { exitCode, stderr } = await azpFleet(line);
      expect(exitCode).toBe(2);
      expect(stderr).toContain('it was not written by azp-fleet');
    }
    expect(readFileSync(hosts, 'utf8')).toBe('Host of-mine\n');
    expect(existsSync(config)).toBe(false);
  });

  test('the hosts of another inventory are replaced only after confirmation', async () => {
    await write();
    inventory('  gpu-2: { address: 192.0.2.12 }\n', 'other.yaml');
    expect(await azpFleet('ssh-config -i other.yaml --write')).toMatchObject({ exitCode: 2 });
    expect(theirs('gpu-1')['hostname']).toEqual(['192.0.2.11']);
    expect(await azpFleet('ssh-config -i other.yaml --write --yes')).toMatchObject({ exitCode: 0 });
    expect(theirs('gpu-2')['hostname']).toEqual(['192.0.2.12']);
    expect(theirs('gpu-1')['hostname']).toEqual(['gpu-1']);
  });

  test('--limit and names select hosts, and their jump hosts are included', async () => {
    inventory(
      '  a: { address: 10.0.0.1, jump: gate }\n  b: { address: 10.0.0.2 }\n  gate: { address: 192.0.2.9 }\n',
    );
    expect((await write(' a')).hosts.map(({ host }) => host)).toEqual(['a', 'gate']);
    expect((await write(' --limit b')).hosts.map(({ host }) => host)).toEqual(['b']);
    expect(theirs('gate')['hostname']).toEqual(['gate']);
  });

  test('both at once is an error', async () => {
    expect(await azpFleet('ssh-config --write --remove')).toMatchObject({ exitCode: 2 });
  });

  test('options that ssh adds are reported', async () => {
    writeFileSync(config, 'Host gpu-*\n  IdentityFile /keys/for-the-name\n');
    inventory('  gpu-1: { address: 192.0.2.11, identityFile: /keys/one }\n');
    expect((await write()).hosts).toEqual([{ host: 'gpu-1', added: ['identityfile'] }]);
    expect((await azpFleet('ssh-config -i lab.yaml')).stdout).toMatch(/gpu-1: ssh adds .*identityfile/);
  });

  test("one host's failure does not affect the others", async () => {
    writeFileSync(config, 'Host refused\n  HostName "a b"\n', { mode: 0o600 });
    inventory(`  gpu-1: { address: 192.0.2.11 }
  refused: {}
  prints: { address: 192.0.2.13, hostKeys: ["SHA256:abcdefghijklmnopqrstuvwxyzabcdefghijklmnopq"] }
`);
    const { exitCode, hosts: found } = await write();
    expect(exitCode).toBe(2);
    expect(found.map(({ host, problem }) => [host, problem?.code])).toEqual([
      ['gpu-1', undefined],
      ['refused', 'ssh.config'],
      ['prints', 'ssh.pin'],
    ]);
    expect(readFileSync(hosts, 'utf8')).not.toMatch(/refused|prints/);
    expect(theirs('gpu-1')['hostname']).toEqual(['192.0.2.11']);
  });

  test.each(['gpu*', '!gpu', 'a,b', 'a b', 'a?', '-oX', 'a#b', '"a"'])(
    'a name that ssh would read as a pattern is refused: %s',
    async (name) => {
      inventory(`  ${JSON.stringify(name)}: { address: 192.0.2.11 }\n`);
      expect(await azpFleet('ssh-config -i lab.yaml')).toMatchObject({ exitCode: 2 });
    },
  );
});
