import { readFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import type { HostConnection } from '../../../../src/fleet/apply/connection.ts';
import {
  findHeldNames,
  takeOverNames,
  type TakenOver,
  checkAgain,
} from '../../../../src/fleet/apply/held-names.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { planTakeOvers, refusedTakeOvers, type HeldNames } from '../../../../src/fleet/plan/held-names.ts';
import type { Session } from '../../../../src/fleet/ssh/transport.ts';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { agentFiles, generateAgentKey } from '../../../../src/shared/azure/keys.ts';
import { AgentSession } from '../../../support/agent-session.ts';
import { StillClock } from '../../../support/clock.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { newAgent, useFake } from '../../practice/azure/server.ts';
import { FakeHost } from './fake-fleet.ts';

// A reinstalled machine: the real manager and the real client of Azure DevOps against the practice server.

const host = { ...desiredOf({ pool: 'gpu-lab', agents: { kind: 'count', count: 2 } }).host, name: 'box' };

let rig: ManagerRig;
let machine: FakeHost;
beforeEach(async () => {
  // A session without polls ends after 15 s.
  rig = await ManagerRig.create(20);
  machine = new FakeHost([]);
});
afterEach(() => rig.close());

const before = factsOf();
const now = () => {
  const { installation } = JSON.parse(readFileSync(join(rig.directory, 'state/manager.json'), 'utf8')) as {
    installation: string;
  };
  return factsOf({ machineId: 'machine-1', manager: { installation } });
};

/** Registers this name as an earlier installation of the machine; `online` opens a session for it and keeps it. */
async function earlier(name: string): Promise<{ readonly id: number; online: () => Promise<void> }> {
  const key = await generateAgentKey();
  const agent = await rig.azure.createAgent(rig.poolId, {
    ...newAgent(name, key),
    userCapabilities: { 'azp-fleet.owner': 'e'.repeat(32), 'azp-fleet.host': 'box' },
  });
  const files = agentFiles({
    agent,
    key,
    pool: { id: rig.poolId, name: 'gpu-lab' },
    organization: rig.fake.organization,
  });
  const online = async () => {
    const session = await AgentSession.open(new Map(files.map((file) => [file.name, file.content])));
    const polls = async (): Promise<never> => {
      for (;;) await session.take();
    };
    // Until the server ends the session or stops.
    void polls().catch(() => undefined);
  };
  return { id: agent.id, online };
}

const entry = (name: string): Promise<AzureAgent | undefined> => rig.azure.findAgent(rig.poolId, name);
const ownerOf = async (name: string) => (await entry(name))?.userCapabilities?.['azp-fleet.owner'];

async function findHeld(): Promise<readonly HeldNames[]> {
  return (await findHeldNames(rig.azure, [{ host, facts: before }], rig.clock)).held;
}

/** Takes over names as `provision` does once the manager runs; `agreed`: all planned take-overs were confirmed. */
function takeOver(held: readonly HeldNames[], agreed = true, facts?: Facts): Promise<TakenOver> {
  const agent = () =>
    Object.assign(new Agent(), { createConnection: () => connect(rig.socket) }) as unknown as Agent;
  const session = { host: 'box', socketAgent: agent } as Partial<Session> as Session;
  const connection = { session: () => Promise.resolve(session) } as Partial<HostConnection> as HostConnection;
  const tools = {
    ...machine.tools(),
    gather: () => Promise.resolve(facts ?? now()),
    clock: rig.clock,
    sleep: () => new Promise<void>((resolve) => setTimeout(resolve, 10)),
  };
  const ids = new Set(agreed ? planTakeOvers(held).map(({ id }) => id) : []);
  return takeOverNames({ host, connection }, { client: rig.azure, held, agreed: ids }, tools);
}

describe('the names of an earlier installation', () => {
  test('that is offline are planned, taken over after confirmation, and used', async () => {
    await earlier('box-0');
    const held = await findHeld();
    expect(planTakeOvers(held)).toEqual([
      {
        id: `agent.take-over.gpu-lab.box-0.${'e'.repeat(32)}`,
        title: 'take over agent box-0 in pool gpu-lab for box',
        why: 'agent box-0 belongs to another installation, offline; only after confirmation or with --adopt',
        action: { kind: 'take-over', pool: 'gpu-lab', host: 'box', slots: ['0'] },
      },
    ]);
    expect(refusedTakeOvers(held)).toEqual([]);
    await rig.start();
    expect(await takeOver(held)).toEqual({ changes: 1 });
    await rig.until('idle');
    expect(await ownerOf('box-0')).toBe(await ownerOf('box-1'));
    expect(machine.events).toMatchObject([{ kind: 'note', text: 'took over agent box-0' }]);
  });

  test('are not taken over without confirmation, with the cause of status', async () => {
    await earlier('box-0');
    await rig.start();
    await rig.until('backing-off', ['0']);
    const { problem } = await takeOver(await findHeld(), false);
    const { cause, next } = await rig.slot('0');
    expect(problem).toMatchObject({ code: 'agent.name-held', host: 'box', what: cause, next });
    expect(problem?.next).toContain('"azp-fleet provision box --adopt"');
    expect(await ownerOf('box-0')).toBe('e'.repeat(32));
  });

  test('are refused while it is online, under any of its names', async () => {
    const first = await earlier('box-0');
    const second = await earlier('box-7');
    await second.online();
    expect(planTakeOvers(await findHeld())).toEqual([]);
    expect(refusedTakeOvers(await findHeld())).toMatchObject([
      {
        what: expect.stringMatching(
          /^agent box-0 belongs to another installation, whose agent box-7 is online/,
        ),
        seen: 'in pool gpu-lab, registered by installation eeeeeeee',
        next: expect.stringContaining('stop the agents of its owner') as string,
      },
    ]);
    expect((await entry('box-0'))?.id).toBe(first.id);
  });

  test('are not taken over from an owner that is online again', async () => {
    const { online } = await earlier('box-0');
    const held = await findHeld();
    expect(planTakeOvers(held)).toHaveLength(1);
    await online();
    await rig.start();
    const { changes, problem } = await takeOver(held);
    expect(changes).toBe(0);
    expect(problem?.what).toMatch(/^agent box-0 belongs to another installation, online since /);
    expect(await ownerOf('box-0')).toBe('e'.repeat(32));
    expect((await entry('box-0'))?.status).toBe('online');
  });

  test('that have another owner since the plan need another confirmation', async () => {
    const { id } = await earlier('box-0');
    const held = await findHeld();
    await rig.azure.setUserCapabilities(rig.poolId, id, { 'azp-fleet.owner': 'f'.repeat(32) });
    await rig.start();
    const { changes, problem } = await takeOver(held);
    expect(changes).toBe(0);
    expect(problem).toMatchObject({ code: 'agent.name-held', seen: expect.stringContaining('ffffffff') });
  });

  test('are not taken over while its own installation is unknown, and its own agent is no other owner', async () => {
    await earlier('box-0');
    const held = await findHeld();
    await rig.start();
    expect(await takeOver(held)).toEqual({ changes: 1 });
    await rig.until('idle');
    const unread = { ...factsOf(), unknown: [{ fact: 'manager', why: 'no answer in 5 s' }] };
    expect(await takeOver(held, true, unread)).toMatchObject({
      changes: 0,
      problem: { code: 'facts.incomplete', what: 'facts incomplete: manager (no answer in 5 s)' },
    });
  });

  test('that were deleted since the plan need no take-over', async () => {
    const { id } = await earlier('box-0');
    const held = await findHeld();
    await rig.azure.deleteAgent(rig.poolId, id);
    await rig.start();
    await rig.until('idle');
    expect(await takeOver(held)).toEqual({ changes: 0 });
  });

  test('of a drained host are taken over when its slots start again', async () => {
    await earlier('box-0');
    const held = await findHeld();
    await rig.start();
    await rig.until('backing-off', ['0']);
    await rig.post('/v1/drain', {});
    expect(await takeOver(held)).toEqual({ changes: 0 });
    expect(machine.events).toMatchObject([{ text: 'takes over agent box-0 when its slot starts one' }]);
    await rig.post('/v1/undrain', {});
    await rig.until('idle');
  });
});

describe('the manager checks the owner itself during the take-over', () => {
  test('an online owner keeps its name, and the confirmation expires', async () => {
    const { online } = await earlier('box-0');
    await online();
    await rig.start();
    await rig.until('backing-off', ['0']);
    await rig.post('/v1/adopt', { slots: ['0'] });
    await expect
      .poll(async () => (await rig.slot('0')).cause)
      .toMatch(/^agent box-0 belongs to another installation, online since /);
    await rig.control.endSession('box-0');
    // Long enough for its owner to count as offline, and for the slot to try again.
    await expect.poll(async () => (await rig.slot('0')).cause).toMatch(/, offline since /);
    expect(await ownerOf('box-0')).toBe('e'.repeat(32));
    expect((await rig.slot('0')).code).toBe('agent.name-held');
  });
});

test('if all names are in use on their hosts, the pool is not read', async () => {
  await rig.start();
  await rig.until('idle');
  const facts = factsOf({ manager: { status: await rig.status() } });
  await rig.stop();
  const last = (await rig.control.requests()).at(-1)?.n ?? 0;
  await findHeldNames(rig.azure, [{ host, facts }], rig.clock);
  expect(await rig.control.requests(last)).toEqual([]);
});

// Held names in a pool that is too large to be listed whole. The server is the practice server.

const server = useFake();
const largeHost = { ...desiredOf({ pool: 'gpu', agents: { kind: 'count', count: 2 } }).host, name: 'box' };

test('held names in a large pool are found with their owner’s other agents, by few calls', async () => {
  const client = server.client();
  const { pool } = await client.ensurePool('gpu');
  await server.control.makeAgents({ pool: 'gpu', count: 400 });
  await server.control.makeAgents({ pool: 'gpu', count: 1, namePattern: 'box-{n}' });
  await server.control.makeAgents({ pool: 'gpu', count: 3, namePattern: 'theirs-{n}' });
  for (const name of ['box-1', 'theirs-1', 'theirs-2', 'theirs-3']) {
    const agent = await client.findAgent(pool.id, name);
    await client.setUserCapabilities(pool.id, agent?.id ?? 0, {
      'azp-fleet.owner': 'them',
      'azp-fleet.host': 'other',
    });
  }
  const clock = new StillClock();
  const last = (await server.control.requests()).at(-1)?.n ?? 0;
  const asked = async () =>
    (await server.control.requests(last))
      .filter(({ path }) => path.endsWith('/agents'))
      .map(({ query }) => /agentName=[^&]*|demands=[^&]*/u.exec(query)?.[0] ?? 'all');
  const { held, blocked } = await findHeldNames(client, [{ host: largeHost, facts: factsOf() }], clock);
  expect(blocked.size).toBe(0);
  expect(held).toMatchObject([
    {
      names: [{ agent: 'box-1' }],
      holder: { owner: 'them', host: 'other', state: 'away' },
      others: ['theirs-1', 'theirs-2', 'theirs-3'],
    },
  ]);
  expect(await asked()).toEqual([
    'agentName=box-0',
    'agentName=box-1',
    'demands=azp-fleet.owner+-equals+them',
  ]);
  const [first] = held;
  if (first === undefined) throw new Error('nothing is held');
  expect(await checkAgain(client, first, factsOf(), clock)).toMatchObject([{ others: first.others }]);
  // One more call lists the owner's agents.
  expect((await asked()).slice(3)).toEqual(['demands=azp-fleet.owner+-equals+them']);
});
