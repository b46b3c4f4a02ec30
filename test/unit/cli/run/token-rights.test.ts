// A token that could not register agents reaches no host, whatever else is planned there.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';

import { sha256 } from '../../../../src/shared/base/digest.ts';
import { runCommand } from '../../../support/command.ts';
import { framesSaid, hostileHost, type HostileHost } from '../../../support/hostile-host.ts';
import { useFake } from '../../practice/azure/server.ts';

vi.mock('../../../../src/fleet/artifacts/load.ts', async () => {
  const { desiredOf } = await import('../../../support/host.ts');
  return { loadArtifacts: () => Promise.resolve(desiredOf().artifacts) };
});

const cwd = mkdtempSync(join(tmpdir(), 'token-rights-'));
const fake = useFake();
const machines: HostileHost[] = [];
let hasToken = false;

beforeAll(async () => {
  const lines: string[] = [];
  for (const name of ['gpu-1', 'gpu-2']) {
    const facts = {
      os: 'ID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nPRETTY_NAME="Debian 12"\n',
      machine: `kernel 6.1.0\narch x86_64\nmachine-id of-${name}\nboot-id 4567\nsystemd systemd 252\nuser lab\nuid 1000\nmemory 9000000\ncpus 8\n`,
      docker: 'active\n',
      'docker-info': '{"ServerVersion":"29.1.0"}\n',
    };
    const digest = sha256(`of-${name}:good-token`);
    const answer = (script: string) =>
      framesSaid(script, hasToken ? { ...facts, manager: `credential ${digest}  -\n` } : facts);
    const machine = await hostileHost({ answer });
    machines.push(machine);
    lines.push(`  ${name}: { address: 127.0.0.1, port: ${machine.port}, hostKeyPolicy: accept-new }\n`);
  }
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    `organization: ${fake.server.organization}
token: { file: ${fake.tokenFile} }
defaults: { user: lab, pool: gpu-lab, sshConfig: none, loginPassword: { env: LOGIN } }
hosts:
${lines.join('')}`,
  );
});
beforeEach(() => {
  hasToken = false;
  return fake.client().ensurePool('gpu-lab');
});
afterAll(() => {
  for (const machine of machines) machine.close();
  rmSync(cwd, { recursive: true });
});

interface Document {
  readonly exitCode: number;
  readonly problems: readonly { readonly code: string; readonly what: string; readonly next?: string }[];
  readonly hosts: readonly {
    readonly host: string;
    readonly state?: string;
    readonly stages?: readonly (readonly { readonly step?: string; readonly title?: string }[])[];
  }[];
}

async function azpFleet(...argv: readonly string[]): Promise<Document> {
  const { stdout } = await runCommand([...argv, '--json'], { cwd, env: { LOGIN: 'a-login-password' } });
  return JSON.parse(stdout) as Document;
}

/** Returns the planned changes of the managers. */
const managerChanges = ({ hosts }: Document) =>
  hosts.flatMap(({ stages = [] }) =>
    stages.flat().flatMap(({ step, title = '' }) => (step === 'manager' ? title : [])),
  );

test('a token that may register agents is planned for every host', async () => {
  const planned = await azpFleet('plan');
  expect(planned.problems).toEqual([]);
  expect(
    managerChanges(planned).filter((title) => title === 'store the credential (root only)'),
  ).toHaveLength(2);
});

test('a read-only token: nothing of it reaches a host, and the message names the scope', async () => {
  await fake.control.setToken('read-only');
  const planned = await azpFleet('plan');
  expect(managerChanges(planned)).toEqual([]);
  expect(planned).toMatchObject({
    exitCode: 1,
    problems: [
      {
        code: 'azure.permission',
        what: 'the token may not register agents, so no host gets it',
        next: expect.stringContaining('the scope "Agent Pools (Read & manage)"') as string,
      },
    ],
  });
  const { exitCode, problems } = await azpFleet('provision', '--dry-run');
  expect(exitCode).toBe(0);
  expect(problems).toEqual(planned.problems);
  const { pools } = await fake.control.overview();
  expect(pools.find(({ name }) => name === 'gpu-lab')?.agents).toEqual([]);
});

test('a user who does not administer the pool: the message names the pool', async () => {
  await fake.control.deny(['pools.manage']);
  const planned = await azpFleet('plan');
  expect(managerChanges(planned)).toEqual([]);
  expect(planned.problems).toEqual([
    expect.objectContaining({
      code: 'azure.permission',
      what: 'the user of the token does not administer pool gpu-lab, so no host gets it',
      next: expect.stringContaining('Organization settings > Agent pools > gpu-lab > Security') as string,
    }),
  ]);
});

test('a token that the hosts have already: its lacked rights are named, and the command that replaces it', async () => {
  // Each host reports the digest of the inventory's token.
  hasToken = true;
  const healthy = await azpFleet('plan');
  expect(healthy.problems).toEqual([]);
  await fake.control.setToken('read-only');
  const { exitCode, problems } = await azpFleet('plan');
  expect(exitCode).toBe(1);
  expect(problems).toEqual([
    expect.objectContaining({
      code: 'azure.permission',
      what: 'the token may not register agents, and the hosts have it',
      next: expect.stringContaining('then run azp-fleet token rotate') as string,
    }),
  ]);
  await fake.control.setToken('valid');
  await fake.control.deny(['pools.manage']);
  expect((await azpFleet('provision', '--dry-run')).problems).toEqual([
    expect.objectContaining({
      what: 'the user of the token does not administer pool gpu-lab, and the hosts have it',
    }),
  ]);
});
