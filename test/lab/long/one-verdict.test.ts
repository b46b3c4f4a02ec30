// What provision says of a host in the end is what status says a moment later, also where agents of before are online.
// Real: CLI, SSH, manager, Docker, signals, terminal. Stand-ins: the GPUs, the agent program, Azure DevOps.
import { afterAll, beforeAll, expect, test } from 'vitest';

import type { AzureClient } from '../../../src/shared/azure/client.ts';
import { agentFiles, generateAgentKey } from '../../../src/shared/azure/keys.ts';
import { systemClock } from '../../../src/shared/base/clock.ts';
import { AgentSession } from '../../support/agent-session.ts';
import { Terminal } from '../../../practice/lab/terminal.ts';
import { tokenClient } from '../../support/token-client.ts';
import { startAzure, type LabAzure } from '../../../practice/lab/azure.ts';
import { azpFleet, cliEnvironment, command } from '../../../practice/lab/azp-fleet.ts';
import type { LabHost } from '../../../practice/lab/host.ts';
import { writeInventory } from '../../../practice/lab/inventory.ts';
import { startLab, type Lab } from '../../../practice/lab/lab.ts';
import type { Output } from '../../../practice/lab/run.ts';
import { ManagedHost, pool, settings } from '../support/managed-host.ts';

let lab: Lab;
let azure: LabAzure;
let host: LabHost;
let managed: ManagedHost;
let inventory: string;
let client: AzureClient;
let poolId: number;
beforeAll(async () => {
  lab = await startLab({ prefix: 'verdict', hosts: [{ name: 'metal', gpus: ['h200', 'h200'] }] });
  host = lab.host('metal');
  azure = await startAzure('verdict', lab.folder);
  managed = new ManagedHost(host, azure);
  const forever = new AbortController().signal;
  client = tokenClient(azure.organization, azure.tokenFile, systemClock(1), forever);
  poolId = (await client.ensurePool(pool)).pool.id;
});
afterAll(async () => {
  await azure.stop();
  await lab.remove();
});

const configure = async (changes: Readonly<Record<string, unknown>>): Promise<void> => {
  inventory = await writeInventory(lab, azure, { hosts: { metal: changes } });
};
const provision = (): Promise<Output> => azpFleet(lab.folder, ['provision', inventory, '--yes']);

/** The verdict that status gives now, and its exit code. */
async function status(): Promise<{ readonly code: number; readonly state: string; readonly cause: string }> {
  const { code, stdout, stderr } = await azpFleet(lab.folder, ['status', inventory, '--json']);
  const [row] = (JSON.parse(stdout) as { hosts: { verdict: { state: string; cause: string } }[] }).hosts;
  if (row === undefined) throw new Error(`no status: ${stderr}`);
  return { code, ...row.verdict };
}

/** Provision has ended with this sentence as a failure, and status says the same. */
async function expectFailed({ code, stdout, stderr }: Output, sentence: RegExp): Promise<void> {
  const said = stdout.replaceAll(/\s+/gu, ' ');
  expect(code, `${stdout}\n${stderr}`).toBe(1);
  const seen = await status();
  expect(seen).toMatchObject({ code: 1, state: 'failed', cause: expect.stringMatching(sentence) as string });
  expect(said).toContain(seen.cause);
  expect(said).toMatch(/1 host: 1 failed/u);
}

/** An agent of this name that another installation has registered, online until the end. */
async function strangerOnline(name: string): Promise<{ leave(): Promise<void> }> {
  const key = await generateAgentKey();
  const agent = await client.createAgent(poolId, {
    name,
    version: '5.279.0',
    osDescription: 'Linux',
    systemCapabilities: {},
    userCapabilities: { 'azp-fleet.owner': 'the earlier installation' },
    enabled: true,
    publicKey: key.publicKey,
  });
  const files = agentFiles({
    agent,
    key,
    pool: { id: poolId, name: pool },
    organization: azure.organization,
  });
  const session = await AgentSession.open(new Map(files.map(({ name: file, content }) => [file, content])));
  const stop = new AbortController();
  const polls = (async () => {
    while (!stop.signal.aborted) await session.take(stop.signal).catch(() => undefined);
  })();
  return {
    leave: async () => {
      stop.abort();
      await polls;
      await session.close();
      await client.deleteAgent(poolId, agent.id);
    },
  };
}

test('a reinstalled machine: the online agent of the earlier installation proves nothing', async () => {
  const stranger = await strangerOnline('metal-0');
  try {
    await configure({ agents: 1 });
    await expectFailed(await provision(), /^agent metal-0 belongs to another installation/u);
  } finally {
    await stranger.leave();
  }
});

test('a dataset that is missing: the agents from before are online, and prove nothing', async () => {
  await configure({});
  const { code, stdout, stderr } = await provision();
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  expect((await status()).state).toBe('healthy');
  await configure({ datasets: { IMAGENET: { host: '/data/nowhere', container: '/datasets/imagenet' } } });
  const failed = await provision();
  await expectFailed(
    failed,
    /^metal-0, metal-1: dataset IMAGENET: \/data\/nowhere is not a readable folder/u,
  );
  expect(failed.stderr).toMatch(/^metal: waiting for metal-0, metal-1: /mu);
});

test('every agent with a session that no process polls: failed, not healthy; Ctrl-C during the proof prints the changes', async () => {
  await configure({});
  const { code, stdout, stderr } = await provision();
  expect(code, `${stdout}\n${stderr}`).toBe(0);
  // A job that only these agents may take keeps their entries from being registered again.
  const names = ['metal-0', 'metal-1'];
  for (const name of names)
    await client.setAgentEnabled(poolId, (await client.findAgent(poolId, name))?.id ?? 0, false);
  for (const name of names) await managed.queue('true', 1, [`Agent.Name -equals ${name}`]);
  await host.exec(`docker kill ${names.join(' ')}`);
  await expect
    .poll(async () => (await managed.status()).slots.map(({ code: cause }) => cause), settings)
    .toEqual(['agent.session-left', 'agent.session-left']);

  await configure({ capabilities: { room: 'b12' } });
  const env = cliEnvironment(lab.folder);
  const terminal = new Terminal(`"${process.execPath}" "${command}" provision "${inventory}" --yes`, {
    cwd: lab.folder,
    env,
  });
  try {
    await terminal.see(/waiting for metal-[01]/u);
    terminal.press('C-c');
    await terminal.see('[exit 130]');
    expect(terminal.history().replaceAll(/\s+/gu, ' ')).toMatch(
      /metal interrupted \d changes made; interrupted while proving; run again to prove it/u,
    );
  } finally {
    terminal.close();
  }

  await expectFailed(await provision(), /(?:still holds a session|ended without closing its session)/u);
});
