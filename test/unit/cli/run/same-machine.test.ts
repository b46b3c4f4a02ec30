// Two names of one machine: plan and provision refuse both, status reports them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { runCommand } from '../../../support/command.ts';
import { framesSaid, hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { useFake } from '../../practice/azure/server.ts';

// The artifacts are built in dist/, which need not exist for unit tests.
vi.mock('../../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const cwd = mkdtempSync(join(tmpdir(), 'azp-same-'));
const fake = useFake();
const env = { LOGIN: 'a-login-password' };
const hosts: HostileHost[] = [];

beforeAll(async () => {
  const machine = (id: string) =>
    `kernel 6.8.0\narch x86_64\nmachine-id ${id}\nboot-id 4567\nsystemd systemd 255\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n`;
  const os = 'ID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\nPRETTY_NAME="Ubuntu 24.04"\n';
  const serve = async (id: string) => {
    const host = await hostileHost({ answer: (script) => framesSaid(script, { os, machine: machine(id) }) });
    hosts.push(host);
    return host.port;
  };
  const [one, other] = [await serve('0123'), await serve('4567')];
  writeFileSync(
    join(cwd, 'lab.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
  gpu-1: { address: 127.0.0.1, port: ${one} }
  big-box: { address: localhost, port: ${one} }
  gpu-2: { address: 127.0.0.1, port: ${other} }
`,
  );
});
afterAll(() => {
  hosts.forEach((host) => host.close());
  rmSync(cwd, { recursive: true });
});

const azpFleet = (...argv: readonly string[]) => runCommand([...argv, '-i', 'lab.yaml'], { cwd, env });
const problem = (host: string, other: string) => `✗ ${host} · facts: it is the same machine as ${other}`;

test.each(['plan', 'provision --dry-run', 'reboot --dry-run'])('%s refuses both names', async (line) => {
  const { exitCode, stdout, stderr } = await azpFleet(...line.split(' '));
  expect(exitCode).toBe(1);
  expect(stderr).toContain(problem('gpu-1', 'big-box'));
  expect(stderr).toContain(problem('big-box', 'gpu-1'));
  expect(stdout).toContain('gpu-2');
  expect(stdout).not.toMatch(/gpu-1|big-box/);
});

test('status reports both', async () => {
  const { exitCode, stderr } = await azpFleet('status');
  expect(exitCode).toBe(1);
  expect(stderr).toContain(problem('gpu-1', 'big-box'));
  expect(stderr).toContain(problem('big-box', 'gpu-1'));
});

test('with one of the names the machine is provisioned', async () => {
  const { stdout, stderr } = await azpFleet('plan', 'gpu-1', 'gpu-2');
  expect(stderr).not.toContain('same machine');
  expect(stdout).toContain('gpu-1');
});
