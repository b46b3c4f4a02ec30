// How agents are stopped, with the stand-in as version 5 of the agent, which SIGTERM kills and leaves its session
// behind: the name is then in conflict for five minutes. Real: Docker Engine, manager, systemd, signals, the server's clock
// (speed 1). Stand-ins: the agent, Azure DevOps, the GPUs.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { LabHost } from '../../../practice/lab/host.ts';
import { provisionedFleet, type ProvisionedFleet } from '../../../practice/lab/provisioned.ts';
import { until } from '../../../practice/lab/run.ts';
import { ManagedHost, program } from '../support/managed-host.ts';
import { PoolWatch } from '../support/pool-watch.ts';

let fleet: ProvisionedFleet;
let host: LabHost;
let managed: ManagedHost;
let watch: PoolWatch;
const names = ['hook-0', 'hook-1'];
/** What any change may cost a slot, in seconds. */
const mostS = 20;

beforeAll(async () => {
  fleet = await provisionedFleet();
  host = fleet.lab.host('hook');
  managed = new ManagedHost(host, fleet.azure);
  await managed.allIdle();
  watch = await PoolWatch.start(fleet.azure.control);
});
afterAll(async () => {
  watch.stop();
  await managed.restore();
});

/** Waits until none of the containers is left that are there before, and all slots wait for jobs again. */
async function renewed(change: () => Promise<unknown>): Promise<void> {
  const before = await managed.containers();
  await change();
  await until('new containers', async () => {
    const now = await managed.containers();
    return now.length === names.length && now.every((id) => !before.includes(id));
  });
  await managed.allIdle();
}

/** Each slot was renewed, and it took it no longer than it may. */
function expectShort(gaps: readonly number[]): void {
  for (const gap of gaps) {
    expect(gap).toBeGreaterThan(0);
    expect(gap).toBeLessThanOrEqual(mostS);
  }
}

test('the stand-in is version 5', async () => {
  expect(fleet.azure.agent.version).toMatch(/^5\./);
  const [id] = await managed.containers();
  const { stdout } = await host.exec(`docker inspect -f '{{.Config.StopSignal}}' ${id}`);
  expect(stdout.trim()).toBe('SIGINT');
});

test('a change of the configuration', async () => {
  const gaps = await watch.gapsDuring(names, () =>
    renewed(() => managed.restartWith('config.limits = { ...config.limits, shm: "2g" };')),
  );
  expectShort(gaps);
  expect(await watch.conflicts()).toBe(0);
});

test("an image roll, to a user's image whose entry point, user and stop signal are all wrong", async () => {
  const { stdout } = await host.exec('docker images -q --filter reference=azp-fleet/agent | head -n 1');
  await host.exec(`printf 'FROM ${stdout.trim()}\\nUSER root\\nWORKDIR /\\nENV HOME=/root LANG=de_DE.UTF-8\\nSTOPSIGNAL SIGTERM\\nENTRYPOINT ["sleep", "1d"]\\n' \
| docker build -t lab/own:1 - >/dev/null`);
  const gaps = await watch.gapsDuring(names, () =>
    renewed(() => managed.restartWith('config.image = { kind: "registry", reference: "lab/own:1" };')),
  );
  expectShort(gaps);
  expect(await watch.conflicts()).toBe(0);
  const { stdout: home } = await host.exec(
    `docker exec hook-0 sh -c 'tr "\\0" "\\n" </proc/1/environ | grep -c UTF-8; ps -o user= -C Agent.Listener | sort -u; ls -A /azp/home /home/agent'`,
  );
  expect(home).toContain('agent');
  expect(home).toContain('.config');
});

test('a drain', async () => {
  await host.exec(`${program} drain --reason 'lab test'`);
  await managed.are('drained drained');
  expect(await managed.containers()).toEqual([]);
  expect(await watch.online(names)).toEqual([]);
  const seconds = await watch.secondsUntilAble(names, () => host.exec(`${program} undrain`));
  expect(seconds).toBeLessThanOrEqual(mostS);
  await managed.allIdle();
  expect(await watch.conflicts()).toBe(0);
});

test('a slot that is removed, and added again', async () => {
  const [other] = await watch.gapsDuring(['hook-0'], async () => {
    await managed.restartWith('config.agents = { kind: "count", count: 1 };');
    await managed.are('idle');
    await until('the end of the container', async () => (await managed.containers()).length === 1);
    expect(await watch.online(names)).toEqual(['hook-0']);
    const seconds = await watch.secondsUntilAble(['hook-1'], () => managed.restore());
    expect(seconds).toBeLessThanOrEqual(mostS);
  });
  // The slot that stays may be renewed (its share of the machine has changed), no more.
  expect(other).toBeLessThanOrEqual(mostS);
  expect(await watch.online(names)).toEqual(names);
  expect(await watch.conflicts()).toBe(0);
});
