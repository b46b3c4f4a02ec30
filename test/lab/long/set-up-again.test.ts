// A machine is replaced by another one under its name, as after a reinstallation: while the earlier one still runs, and
// once it is gone. Real: systemd, SSH, Docker, both managers, the protocol of the agents. Stand-ins: GPUs, the agent
// program, and Azure DevOps, whose clock and the managers' are fast: a session lives 75 s. On a busy machine an agent may be
// silent for 15 s: the server would show it as offline.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { leftForMs } from '../../../src/shared/contract/holder.ts';
import { Terminal } from '../../../practice/lab/terminal.ts';
import { azpFleet, cliEnvironment, command } from '../../../practice/lab/azp-fleet.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { removeLab, startLab, type Lab } from '../../../practice/lab/lab.ts';
import { until } from '../../../practice/lab/run.ts';

const prefix = 'again';
const held =
  /agent box-0 belongs to another installation, (online|offline) since \d{4}-\d\d-\d\d \d\d:\d\d UTC/;

let lab: Lab;
let azure: LabAzure;
/** The machine that is thrown away, and the one that takes its place. */
let earlier: LabHost;
let again: LabHost;
let inventory: string;
beforeAll(async () => {
  await removeLab(prefix);
  lab = await startLab({ prefix, hosts: [{ name: 'box' }, { name: 'spare' }] });
  azure = await startAzure(prefix, lab.folder, { speed: 4 });
  earlier = lab.host('box');
  const { container, address } = lab.host('spare');
  const place = { container, address, key: lab.key, knownHosts: lab.knownHosts };
  again = new LabHost(place, { name: 'box' });
  const before = await writeInventory({ ...lab, hosts: [earlier] }, azure, {
    file: join(lab.folder, 'before.yaml'),
  });
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['provision', before, '--yes']);
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  inventory = await writeInventory({ ...lab, hosts: [again] }, azure);
});
afterAll(() => lab.remove());

/** Long lines are wrapped. */
const run = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await azpFleet(lab.folder, [
    ...args.slice(0, 1),
    inventory,
    ...args.slice(1),
  ]);
  return { code, said: `${stdout}\n${stderr}`.replaceAll(/\s+/g, ' ') };
};
const entry = async () => {
  const { pools } = await azure.control.overview();
  return pools.flatMap(({ agents }) => agents).find(({ name }) => name === 'box-0');
};
/** A job for the agent, at its end. */
const jobOnBox = async () => {
  const demands = ['Agent.Name -equals box-0'];
  const [job] = await azure.control.queue({ pool: 'gpu-lab', script: 'true', demands });
  const jobs = await azure.control.until((all) => all.every(({ state }) => state === 'done'), {
    timeoutMs: 900_000,
    everyMs: 500,
  });
  return jobs.find(({ id }) => id === job?.id);
};
const mark = async () => (await entry())?.userCapabilities['azp-fleet.owner'];

test('while the earlier machine runs nothing is taken: plan, provision and status name its owner', async () => {
  const [first, second] = await Promise.all([earlier, again].map((host) => host.exec('cat /etc/machine-id')));
  expect(first?.stdout).not.toBe(second?.stdout);
  const owner = await mark();
  expect(owner).toMatch(/^[0-9a-f]{32}$/);

  const planned = await run('plan');
  expect(planned.code, planned.said).toBe(1);
  expect(planned.said).toMatch(held);
  expect(planned.said).not.toContain('take over');

  const provisioned = await run('provision', '--yes', '--adopt');
  expect(provisioned.code, provisioned.said).toBe(1);
  expect(held.exec(provisioned.said)?.[1], provisioned.said).toBe('online');
  expect(provisioned.said).toContain(`in pool gpu-lab, registered by installation ${owner?.slice(0, 8)}`);
  expect(provisioned.said).toContain('next stop the agents of its owner');

  for (const args of [['status'], ['adopt', 'box', '--yes']]) {
    const { code, said } = await run(...args);
    expect(code, said).toBe(1);
    expect(held.exec(said)?.[1], said).toBe('online');
  }

  expect(await mark()).toBe(owner);
  expect(await jobOnBox()).toMatchObject({ result: 'succeeded', runs: [{ agent: 'box-0' }] });
});

test('once it is gone, its name is offered, kept without a word of consent, and taken over with one', async () => {
  const owner = await mark();
  await earlier.remove();
  await until('the server to see it gone', async () => (await entry())?.status === 'offline');
  const seenGone = Date.now();
  // No sooner is an owner taken for gone than three minutes after, which are 45 s here.
  const planned = await until('the plan to offer the name', async () => {
    const plan = await run('plan');
    return plan.code === 3 && plan;
  });
  expect(planned.said).toContain('~ take over agent box-0 in pool gpu-lab for box');
  expect(held.exec(planned.said)?.[1]).toBe('offline');

  const terminal = new Terminal([process.execPath, command, 'provision', inventory].join(' '), {
    cwd: lab.folder,
    env: cliEnvironment(lab.folder),
  });
  try {
    await terminal.see('? Take over agent box-0 in pool gpu-lab for box?');
    terminal.press('n', 'Enter');
    await terminal.see('[exit 1]');
    expect(terminal.history().replaceAll(/\s+/g, ' ')).toMatch(held);
  } finally {
    terminal.close();
  }
  expect(await mark()).toBe(owner);

  const unasked = await run('provision', '--yes');
  expect(unasked.code, unasked.said).toBe(1);
  const sentence = held.exec(unasked.said)?.[0] ?? 'none';
  expect(unasked.said).toContain('"azp-fleet provision box --adopt"');
  expect(await mark()).toBe(owner);

  const shown = await until('status to say the same', async () => {
    const status = await run('status');
    return status.said.includes(sentence) && status;
  });
  expect(shown.code).toBe(1);

  // The manager on the host keeps real time.
  await until('the owner to be away for three minutes', () =>
    Promise.resolve(Date.now() - seenGone > leftForMs),
  );
  const adopted = await run('provision', '--yes', '--adopt');
  expect(adopted.code, adopted.said).toBe(0);
  expect(adopted.said).toContain('took over agent box-0');
  expect(adopted.said).toContain('1 host: 1 healthy');
  expect(await mark()).not.toBe(owner);

  expect(await jobOnBox()).toMatchObject({ result: 'succeeded', runs: [{ agent: 'box-0' }] });
  expect((await run('plan')).code).toBe(0);
});
