// Other people's orchestrators: what runs there is named, and keeps driver, Docker and reboots away. Real: CLI, SSH, systemd and
// its control groups, Docker Engine, Debian's slurmd. Stand-ins: the daemons of kubelet, k3s and RKE2, the GPUs, Azure DevOps.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { HostPlan } from '../../../src/fleet/plan/fleet-plan.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, type Lab } from '../../../practice/lab/lab.ts';
import { startStackLab } from '../../../practice/lab/provisioned.ts';

const prefix = 'nodes';

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startStackLab({ prefix, hosts: [{ name: 'node', gpus: ['h200'] }] });
  host = lab.host('node');
  azure = await startAzure(prefix, lab.folder);
});
afterAll(() => removeLab(prefix));

/** Returns what is refused of another driver, which comes with a reboot. */
async function refusals(...options: readonly string[]): Promise<readonly string[]> {
  const inventory = await writeInventory(lab, azure, { defaults: { agents: 1, driver: { branch: '595' } } });
  const { stdout, stderr } = await azpFleet(lab.folder, ['plan', inventory, '--json', ...options]);
  const [plan] = (JSON.parse(stdout) as { hosts: readonly HostPlan[] }).hosts;
  if (plan === undefined) throw new Error(`no plan: ${stderr}`);
  return plan.refusals.map(({ what }) => what);
}

/** A unit whose daemon has this name, with a containerd of its own. */
const standIn = (unit: string, daemon: string): string => `set -e
mkdir -p /srv/node
cp /bin/sleep /srv/node/${daemon}
cp /bin/sleep /srv/node/containerd
cat >/etc/systemd/system/${unit}.service <<'UNIT'
[Service]
Delegate=yes
KillMode=control-group
ExecStart=/bin/sh -c '/srv/node/containerd infinity & exec /srv/node/${daemon} infinity'
[Install]
WantedBy=multi-user.target
UNIT
systemctl daemon-reload
systemctl enable -q --now ${unit}`;

test.each([
  ['kubelet', 'kubelet', 'Kubernetes (kubelet.service)'],
  ['k3s-agent', 'k3s-agent', 'k3s (k3s-agent.service)'],
  ['rke2-agent', 'rke2', 'RKE2 (rke2-agent.service)'],
  ['node-of-ours', 'nomad', 'Nomad (node-of-ours.service)'],
])('a node by its unit %s and its daemon %s', async (unit, daemon, work) => {
  await host.exec(standIn(unit, daemon));
  try {
    const found = await refusals();
    expect(found.length, found.join('\n')).toBeGreaterThan(0);
    for (const what of found) expect(what).toContain(`would disturb work of others: ${work}`);
    expect(await refusals('--disturb-others')).toEqual([]);
  } finally {
    await host.exec(
      `systemctl disable -q --now ${unit}; rm /etc/systemd/system/${unit}.service; systemctl daemon-reload`,
    );
  }
  expect(await refusals()).toEqual([]);
});

test("Debian's slurmd is a node before its first start", async () => {
  await host.exec(
    'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq slurmd >/dev/null',
  );
  const found = await refusals();
  expect(found.length, found.join('\n')).toBeGreaterThan(0);
  for (const what of found) expect(what).toMatch(/would disturb work of others: Slurm \(slurmd\.service\b/);
});
