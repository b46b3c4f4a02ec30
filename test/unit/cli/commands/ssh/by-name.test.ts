import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';
import { useSshHome } from '../../../../support/ssh-home.ts';

const { cwd, config, keys, env, inventory, azpFleet, write, userFile } = useSshHome();

describe('by name, to a real sshd', () => {
  let sshd: OwnSshd;
  beforeAll(async () => {
    sshd = await startOwnSshd({ plain: true, config: ['Subsystem sftp internal-sftp'] });
  });
  afterAll(() => sshd.stop());

  const at = (more: string, address = '127.0.0.1'): string =>
    `{ address: ${address}, port: ${sshd.port}, user: ${sshd.user}, identityFile: ${sshd.clientKeyFile}${more} }`;
  const run = async (program: string, args: readonly string[]) =>
    promisify(execFile)(program, ['-F', userFile(), '-o', 'BatchMode=yes', ...args], { env });

  test('ssh and scp reach a pinned host and a host behind it; any other key is refused', async () => {
    const other = publicKey(makeKey(join(cwd, 'another')));
    inventory(`  gpu-1: ${at(`, hostKeys: ["${sshd.hostKey}"]`)}
  behind: ${at(`, hostKeys: ["${sshd.hostKey}"], jump: gpu-1`, 'localhost')}
`);
    await write();
    expect((await run('ssh', ['gpu-1', 'echo', 'there'])).stdout).toBe('there\n');
    expect((await run('ssh', ['behind', 'echo', 'there'])).stdout).toBe('there\n');
    writeFileSync(join(cwd, 'data'), 'as it was\n');
    await run('scp', ['-q', join(cwd, 'data'), `gpu-1:${cwd}/copied`]);
    expect(readFileSync(join(cwd, 'copied'), 'utf8')).toBe('as it was\n');
    expect(
      readFileSync(keys, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('gpu-1 ')),
    ).toEqual([`gpu-1 ${sshd.hostKey}`]);
    inventory(`  swapped: ${at(`, hostKeys: ["${other}"]`)}\n`);
    await write();
    await expect(run('ssh', ['swapped', 'true'])).rejects.toThrow(/HOST IDENTIFICATION HAS CHANGED/);
  });

  test('ssh knows a key that azp-fleet has accepted', async () => {
    const known = join(cwd, 'known_hosts');
    writeFileSync(config, `UserKnownHostsFile ${known}\n`, { mode: 0o600 });
    inventory(`  gpu-1: ${at('')}\n`);
    await write();
    await expect(run('ssh', ['gpu-1', 'true'])).rejects.toThrow(/Host key verification failed/);
    await azpFleet('exec --login -i lab.yaml gpu-1 -- true');
    expect((await run('ssh', ['gpu-1', 'echo', 'there'])).stdout).toBe('there\n');
  });
});
