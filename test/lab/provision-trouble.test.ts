// What goes wrong in life: one clear line with a next action for it, while the other hosts finish.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';

import { azpFleet } from '../../practice/lab/azp-fleet.ts';
import { writeInventory, type InventoryChanges } from '../../practice/lab/inventory.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../practice/lab/provisioned.ts';
import type { Output } from '../../practice/lab/run.ts';

let fleet: ProvisionedFleet;
beforeAll(async () => {
  fleet = await provisionedFleet();
});

interface Result extends Output {
  /** Host → state, as --json has it; `*` is the fleet. */
  readonly states: Readonly<Record<string, string>>;
}

/** Provisions with a changed inventory, as text and as JSON would be the same work: JSON for states, stderr for people. */
async function provision(changes: InventoryChanges, env: Record<string, string> = {}): Promise<Result> {
  const inventory = await writeInventory(fleet.lab, fleet.azure, {
    ...changes,
    file: join(fleet.lab.folder, 'trouble.yaml'),
  });
  const run = await azpFleet(fleet.lab.folder, ['provision', inventory, '--yes'], { env });
  const lines = run.stdout.matchAll(
    /^(\S+(?:, \S+)*) +(healthy|degraded|failed|unreachable|interrupted|skipped|ok|changed)\b/gm,
  );
  const states = [...lines].flatMap(([, hosts = '', state = '']) =>
    hosts.split(', ').map((host) => [host, state]),
  );
  return { ...run, states: Object.fromEntries(states) };
}

/** The problems that were shown: their first lines, and the line of what to do next. */
function problems({ stderr }: Output): { readonly what: string; readonly next: boolean }[] {
  return stderr
    .split(/^(?=✗ )/m)
    .filter((block) => block.startsWith('✗ '))
    .map((block) => ({ what: block.split('\n')[0]?.slice(2) ?? '', next: /^ {2}next {6}\S/m.test(block) }));
}

describe('a host that cannot be worked on', () => {
  test('is reported with its cause, and the other hosts finish', async () => {
    const keysOfAnother = (await fleet.lab.host('plain').hostKeys()).split('\n');
    const wrongKey = keysOfAnother
      .find((line) => line.includes('ssh-ed25519'))
      ?.split(' ')
      .slice(1)
      .join(' ');
    const result = await provision({ hosts: { hook: { hostKeys: [wrongKey] } } }, { LAB_SUDO_PASSWORD: '' });
    expect(result.code).toBe(1);
    expect(result.states).toEqual({ hook: 'unreachable', plain: 'healthy', cdi: 'failed' });
    expect(problems(result)).toEqual([
      { what: expect.stringMatching(/^hook.*host key/), next: true },
      { what: expect.stringMatching(/^cdi.*password/), next: true },
    ]);
  });

  test('may be switched off', async () => {
    const result = await provision({ hosts: { plain: { address: '10.213.0.254' } } });
    expect(result.code).toBe(1);
    expect(result.states).toEqual({ hook: 'healthy', plain: 'unreachable', cdi: 'healthy' });
    expect(problems(result)).toEqual([{ what: expect.stringMatching(/^plain/), next: true }]);
  });
});

describe('Azure DevOps', () => {
  test('does not accept the token: said once, and every host keeps what it has', async () => {
    const file = join(fleet.lab.folder, 'wrong-token');
    writeFileSync(file, `${'w'.repeat(52)}\n`, { mode: 0o600 });
    const result = await provision({ top: { token: { file } } });
    expect(result.code).toBe(1);
    expect(result.states).toEqual({ hook: 'failed', plain: 'failed', cdi: 'failed' });
    expect(problems(result)).toEqual([{ what: expect.stringContaining('token rejected'), next: true }]);
    const { stdout } = await azpFleet(fleet.lab.folder, ['plan', fleet.inventory]);
    expect(stdout).toContain('No changes: 3 hosts up to date.');
  });

  test('does not let us create a pool: its host fails, the others finish', async () => {
    const { control } = fleet.azure;
    await control.deny(['pools.create']);
    try {
      const result = await provision({ hosts: { plain: { pool: 'gpu-other' } } });
      expect(result.code).toBe(1);
      expect(result.states).toEqual({ hook: 'healthy', plain: 'failed', cdi: 'healthy' });
      expect(problems(result)).toEqual([
        { what: 'pool: cannot create agent pool gpu-other [azure.permission]', next: true },
      ]);
    } finally {
      await control.deny([]);
    }
  });
});
