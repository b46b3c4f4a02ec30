// The stop of an idle agent, with real HTTP to the fake server and a real session. The clock stands still: the test decides
// what happens in the five seconds between the two reads.
import { beforeAll, beforeEach, expect, test } from 'vitest';

import { defined } from '../../../../src/shared/base/objects.ts';
import type { AzureAgent, AzureClient } from '../../../../src/shared/azure/client.ts';
import { agentFiles, generateAgentKey, type AgentKey } from '../../../../src/shared/azure/keys.ts';
import { retire } from '../../../../src/manager/runs/retire.ts';
import type { ManagerTools } from '../../../../src/manager/manager-tools.ts';
import { AgentSession } from '../../../support/agent-session.ts';
import { newAgent, useFake } from '../../practice/azure/server.ts';
import { fault } from '../../../support/fault.ts';

const fake = useFake();
let key: AgentKey;
let azure: AzureClient;
let agent: AzureAgent;
let session: AgentSession;
let poolId: number;
let stopped: string[];
let number = 0;

beforeAll(async () => {
  key = await generateAgentKey();
});
beforeEach(async () => {
  azure = fake.client();
  const { pool } = await azure.ensurePool('gpu');
  poolId = pool.id;
  stopped = [];
  number += 1;
  const name = `box-${number}`;
  agent = await azure.createAgent(pool.id, {
    ...newAgent(name, key),
    systemCapabilities: { 'Agent.Name': name },
    userCapabilities: { 'azp-fleet.owner': 'us' },
  });
  const files = agentFiles({ agent, pool, organization: fake.server.organization, key });
  session = await AgentSession.open(new Map(files.map(({ name, content }) => [name, content])));
});

interface Events {
  /** Right before the agent is disabled in the pool. */
  readonly beforeDisabled?: () => Promise<unknown>;
  /** During the wait of five seconds. */
  readonly duringWait?: () => Promise<unknown>;
  /** Whether the container's output shows an idle agent at the end. */
  readonly isIdle?: boolean;
  /** The agent id of the registration. */
  readonly id?: number;
}

function retired({ beforeDisabled, duringWait, isIdle = true, id }: Events, stop = new AbortController()) {
  const waits: number[] = [];
  const tools = {
    azure: {
      ...azure,
      setAgentEnabled: async (pool: number, id: number, enabled: boolean) => {
        await beforeDisabled?.();
        await azure.setAgentEnabled(pool, id, enabled);
      },
    },
    state: { owner: 'us' },
    signal: stop.signal,
    clock: {
      wait: async (ms: number) => {
        waits.push(ms);
        await duringWait?.();
      },
    },
    engine: { stop: (container: string) => Promise.resolve(void stopped.push(container)) },
  } as unknown as ManagerTools;
  return retire(tools, {
    poolId,
    agent: agent.name,
    container: 'the container',
    reason: 'drained',
    isIdle: () => isIdle,
    ...defined({ id }),
  }).finally(() => expect(waits).toEqual([5000]));
}

const queue = () =>
  fake.control.queue({ pool: 'gpu', script: 'true', demands: [`Agent.Name -equals ${agent.name}`] });
const job = async () =>
  (await fake.control.jobs()).find(({ runs }) => runs.some((run) => run.agent === agent.name));

test('an agent that stays idle is stopped, and disabled with the reason', async () => {
  expect(await retired({})).toBe('stopped');
  expect(stopped).toEqual(['the container']);
  expect(await azure.findAgent(poolId, agent.name)).toMatchObject({
    enabled: false,
    userCapabilities: { 'azp-fleet.disabled': 'drained' },
  });
});

fault(
  'job-during-drain',
  'a job that was assigned right before is run once by the same container',
  async () => {
    expect(await retired({ beforeDisabled: queue })).toBe('busy');
    expect(stopped).toEqual([]);
    await session.take();
    await session.complete();
    expect(await job()).toMatchObject({ result: 'succeeded', runs: [{ agent: agent.name }] });
  },
);

test('a job whose message arrives in the five seconds is run', async () => {
  const taken = retired({ beforeDisabled: queue, duringWait: () => session.take() });
  expect(await taken).toBe('busy');
  expect(stopped).toEqual([]);
  await session.complete();
  expect(await job()).toMatchObject({ result: 'succeeded' });
});

test('the output of an agent with a job has priority over the server', async () => {
  expect(await retired({ isIdle: false })).toBe('busy');
  expect(stopped).toEqual([]);
});

test('a job that is queued after the agent was disabled waits for another agent', async () => {
  expect(await retired({ duringWait: queue })).toBe('stopped');
  const [waiting] = (await fake.control.jobs()).slice(-1);
  expect(waiting).toMatchObject({ state: 'waiting', runs: [] });
});

test('a manager that is stopped in the five seconds stops no agent', async () => {
  const stop = new AbortController();
  const taken = retired({ duringWait: () => Promise.resolve(stop.abort()) }, stop);
  expect(await taken).toBe('interrupted');
  expect(stopped).toEqual([]);
});

const setOwner = (owner: string | undefined) =>
  azure.setUserCapabilities(poolId, agent.id, owner === undefined ? {} : { 'azp-fleet.owner': owner });

fault(
  'drained-agent-enabled',
  'an agent without our owner capability is not disabled and not stopped',
  async () => {
    await setOwner(undefined);
    expect(await retired({})).toBe('enabled');
    await setOwner('another');
    expect(await retired({ id: agent.id })).toBe('enabled');
    expect(stopped).toEqual([]);
  },
);

test('an agent with the id of the registration gets the owner again, is disabled, and stopped', async () => {
  await setOwner(undefined);
  expect(await retired({ id: agent.id })).toBe('stopped');
  expect(await azure.findAgent(poolId, agent.name)).toMatchObject({
    enabled: false,
    userCapabilities: { 'azp-fleet.owner': 'us', 'azp-fleet.disabled': 'drained' },
  });
});

fault('drained-agent-enabled', 'an agent that is enabled in the five seconds is not stopped', async () => {
  const enable = () => azure.setAgentEnabled(poolId, agent.id, true);
  expect(await retired({ duringWait: enable })).toBe('enabled');
  expect(stopped).toEqual([]);
});

test('an agent that was deleted in the pool is stopped', async () => {
  expect(await retired({ duringWait: () => azure.deleteAgent(poolId, agent.id) })).toBe('stopped');
});
