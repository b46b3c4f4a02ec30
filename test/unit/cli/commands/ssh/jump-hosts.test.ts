// The inventory's settings of a jump host also apply if the command is about other hosts.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { runCommand } from '../../../../support/command.ts';
import { makeKey, type OwnSshd, publicKey, startOwnSshd } from '../../../../support/own-sshd.ts';

const cwd = mkdtempSync(join(tmpdir(), 'azp-jump-'));
let box: OwnSshd;
let bastion: OwnSshd;
beforeAll(async () => {
  [box, bastion] = await Promise.all([startOwnSshd(), startOwnSshd()]);
  writeFileSync(join(cwd, 'config'), `UserKnownHostsFile ${cwd}/known_hosts\n`);
});
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await Promise.all([box.stop(), bastion.stop()]);
});

function inventory(pin: string, transport: string): void {
  const host = (sshd: OwnSshd, pinned: string, more = '') =>
    `{ address: 127.0.0.1, port: ${sshd.port}, identityFile: ${sshd.clientKeyFile}, hostKeys: [${pinned}]${more} }`;
  writeFileSync(
    join(cwd, 'lab.yaml'),
    `organization: https://dev.azure.com/example
token: { env: AZP_PAT }
defaults: { pool: p, user: ${box.user}, sshConfig: config, hostKeyPolicy: strict, jump: bastion, transport: ${transport} }
hosts:
  bastion: ${host(bastion, pin)}
  box: ${host(box, box.hostKey)}
`,
  );
}

const env = { PATH: '/usr/bin:/bin', AZP_PAT: 'token' };
const run = (line: string) => runCommand(line.split(' '), { cwd, env });
const logins = () => bastion.log().split('Accepted publickey').length - 1;

describe.each([
  ['ssh', 'builtin', 'ssh box -i lab.yaml -- true', 255],
  ['exec', 'builtin', 'exec -i lab.yaml --login --limit box -- true', 1],
  ['exec', 'openssh', 'exec -i lab.yaml --login --limit box -- true', 1],
])('%s, transport: %s', (_, transport, line, refused) => {
  test('connects through it if its key is the pinned one', async () => {
    inventory(bastion.hostKey, transport);
    const before = logins();
    expect(await run(line)).toMatchObject({ exitCode: 0 });
    expect(logins()).toBe(before + 1);
  });

  test('does not log into another machine instead', async () => {
    inventory(publicKey(makeKey(join(mkdtempSync(join(cwd, 'other-')), 'key'))), transport);
    const before = logins();
    expect(await run(line)).toMatchObject({ exitCode: refused });
    expect(logins()).toBe(before);
  });
});

test('ssh reuses no open connection if another key is pinned', async () => {
  const way = ['-F', join(cwd, 'config'), '-o', `ControlPath=${cwd}/standing`];
  const to = ['-i', box.clientKeyFile, '-p', String(box.port), `${box.user}@127.0.0.1`];
  const more = ['-o', 'ControlMaster=yes', '-o', 'ControlPersist=60', '-o', 'StrictHostKeyChecking=no'];
  execFileSync('ssh', [...way, ...more, ...to, 'true'], { stdio: 'ignore' });
  writeFileSync(join(cwd, 'config'), `UserKnownHostsFile ${cwd}/known_hosts\nControlPath ${cwd}/standing\n`);
  inventory(bastion.hostKey, 'builtin');
  const file = join(cwd, 'lab.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace(box.hostKey, bastion.hostKey));
  expect(await run('ssh box -i lab.yaml -- true')).toMatchObject({ exitCode: 255 });
  execFileSync('ssh', [...way, '-O', 'exit', ...to], { stdio: 'ignore' });
});

test('trust shows the key behind it, and names the owner of a refused key', async () => {
  inventory(bastion.hostKey, 'builtin');
  const keys = await run('trust -i lab.yaml --limit box --json');
  expect(keys.exitCode).toBe(0);
  expect(keys.stdout).toContain(box.hostKey.split(' ')[1]);
  writeFileSync(
    join(cwd, 'lab.yaml'),
    readFileSync(join(cwd, 'lab.yaml'), 'utf8').replace(bastion.hostKey, ''),
  );
  const refused = await run('trust -i lab.yaml --limit box');
  expect(refused).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('jump host bastion: ') as string,
  });
  expect(refused.stderr).toContain('azp-fleet trust --limit bastion');
});
