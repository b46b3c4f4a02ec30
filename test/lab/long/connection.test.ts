// A firewall between a host and Azure DevOps: what `status` says, and when. Real: CLI, SSH, manager, Docker, lost packets,
// time. Stand-ins: the GPUs, the agent program (as version 5), Azure DevOps.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { StatusRow } from '../../../src/fleet/status/row.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import type { Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';
import { ManagedHost } from '../support/managed-host.ts';

/** The longest time until `status` shows a lost connection, or its return. */
const goalMs = 90_000;

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
let inventory: string;
beforeAll(async () => {
  lab = await startStackLab({ prefix: 'cut', hosts: [{ name: 'metal', gpus: ['h200'] }] });
  host = lab.host('metal');
  azure = await startAzure('cut', lab.folder);
  managed = new ManagedHost(host, azure);
  inventory = await writeInventory(lab, azure, { hosts: { metal: { agents: 1 } } });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', inventory, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
});
afterAll(() => lab.remove());

interface Seen {
  readonly code: number;
  readonly state: string;
  readonly findings: readonly string[];
}

async function status(): Promise<Seen> {
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['status', inventory, '--json']);
  const [row] = (JSON.parse(stdout) as { hosts: readonly StatusRow[] }).hosts;
  if (row === undefined) throw new Error(`no status: ${stderr}`);
  const { verdict, findings } = row;
  return {
    code,
    state: verdict.state,
    findings: findings.filter(({ severity }) => severity !== 'info').map((each) => each.code),
  };
}

/** Drops all packets from the host and its containers to Azure DevOps; SSH still works. */
async function firewall(on: boolean): Promise<void> {
  const { hostname, port } = new URL(azure.organization);
  const rules = ['OUTPUT', 'FORWARD'].map(
    (chain) => `iptables -w ${on ? '-I' : '-D'} ${chain} -d ${hostname} -p tcp --dport ${port} -j DROP`,
  );
  await host.exec(['set -e', ...rules].join('\n'));
}

/** Runs `status` until it shows this; returns it with the milliseconds until that run of it began. */
async function within(
  isShown: (seen: Seen) => boolean,
): Promise<{ readonly ms: number; readonly seen: Seen }> {
  const started = performance.now();
  for (;;) {
    const ms = performance.now() - started;
    const seen = await status();
    if (isShown(seen) || ms > 3 * goalMs) return { ms, seen };
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }
}

test('a host that a firewall cuts from Azure DevOps is not healthy within 90 s, and healthy within 90 s of its return', async () => {
  await managed.are('idle');
  expect(await status()).toEqual({ code: 0, state: 'healthy', findings: [] });
  const before = await managed.containers();
  await firewall(true);
  // What else notices it first, such as a pool read, makes the host unhealthy earlier.
  const lost = await within(({ findings }) => findings.includes('azure.no-connection'));
  const { connection } = await managed.status();
  // Longer than an agent's poll takes, so that the agent notices the cut, too.
  await new Promise((resolve) => setTimeout(resolve, 60_000));
  await firewall(false);
  const back = await within(({ state }) => state === 'healthy');
  expect(lost.seen).toMatchObject({ code: 1, state: 'failed' });
  expect(lost.seen.findings).toContain('azure.no-connection');
  expect(lost.ms).toBeLessThanOrEqual(goalMs);
  expect(connection).toMatchObject({
    to: new URL(azure.organization).host,
    failingSince: expect.any(String) as string,
    why: 'no answer in 10 s',
  });
  expect(back.seen).toEqual({ code: 0, state: 'healthy', findings: [] });
  expect(back.ms).toBeLessThanOrEqual(goalMs);
  expect(await managed.containers()).toEqual(before);
});
