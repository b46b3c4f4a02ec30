// The last moments of an idle agent: real HTTP to the fake server, a real session of the agent with it; time stands
// still, and what happens in the five seconds between "disabled" and "looked at again" the test decides.
import { beforeAll, beforeEach, expect, test } from 'vitest';

import { defined } from '../../../../src/shared/base/objects.ts';
import type { AzureAgent, AzureClient } from '../../../../src/shared/azure/client.ts';
import { agentFiles, generateAgentKey, type AgentKey } from '../../../../src/shared/azure/keys.ts';
import { retire } from '../../../../src/manager/runs/retire.ts';
import type { ManagerTools } from '../../../../src/manager/manager-tools.ts';
import { AgentSession } from '../../../support/agent-session.ts';
import { newAgent, useFake } from '../../practice/azure/server.ts';

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
  /** While the server's last word is waited for. */
  readonly meanwhile?: () => Promise<unknown>;
  /** What the container's output says at the end. */
  readonly saysIdle?: boolean;
  /** Under which the container was registered. */
  readonly id?: number;
}

function closing({ beforeDisabled, meanwhile, saysIdle = true, id }: Events, stop = new AbortController()) {
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
        await meanwhile?.();
      },
    },
    engine: { stop: (container: string) => Promise.resolve(void stopped.push(container)) },
  } as unknown as ManagerTools;
  return retire(tools, {
    poolId,
    agent: agent.name,
    container: 'the container',
    reason: 'drained',
    isIdle: () => saysIdle,
    ...defined({ id }),
  }).finally(() => expect(waits).toEqual([5000]));
}

const queue = () =>
  fake.control.queue({ pool: 'gpu', script: 'true', demands: [`Agent.Name -equals ${agent.name}`] });
const job = async () =>
  (await fake.control.jobs()).find(({ runs }) => runs.some((run) => run.agent === agent.name));

test('an agent that stays idle is stopped, and disabled with the reason', async () => {
  expect(await closing({})).toBe('stopped');
  expect(stopped).toEqual(['the container']);
  expect(await azure.findAgent(poolId, agent.name)).toMatchObject({
    enabled: false,
    userCapabilities: { 'azp-fleet.disabled': 'drained' },
  });
});

test('a job that the server gave away right before is not lost: the container stays and runs it, once', async () => {
  expect(await closing({ beforeDisabled: queue })).toBe('busy');
  expect(stopped).toEqual([]);
  await session.take();
  await session.complete();
  expect(await job()).toMatchObject({ result: 'succeeded', runs: [{ agent: agent.name }] });
});

test('a job whose message arrives in the five seconds is not lost either', async () => {
  const taken = closing({ beforeDisabled: queue, meanwhile: () => session.take() });
  expect(await taken).toBe('busy');
  expect(stopped).toEqual([]);
  await session.complete();
  expect(await job()).toMatchObject({ result: 'succeeded' });
});

test('an agent that says it works is believed before the server', async () => {
  expect(await closing({ saysIdle: false })).toBe('busy');
  expect(stopped).toEqual([]);
});

test('a job that is queued after the agent was disabled waits for another agent', async () => {
  expect(await closing({ meanwhile: queue })).toBe('stopped');
  const [waiting] = (await fake.control.jobs()).slice(-1);
  expect(waiting).toMatchObject({ state: 'waiting', runs: [] });
});

test('a manager that is told to stop in the five seconds stops no agent', async () => {
  const stop = new AbortController();
  const taken = closing({ meanwhile: () => Promise.resolve(stop.abort()) }, stop);
  expect(await taken).toBe('interrupted');
  expect(stopped).toEqual([]);
});

const marks = (owner: string | undefined) =>
  azure.setUserCapabilities(poolId, agent.id, owner === undefined ? {} : { 'azp-fleet.owner': owner });

test('an agent without the mark of its owner is not disabled, and so not stopped', async () => {
  await marks(undefined);
  expect(await closing({})).toBe('enabled');
  await marks('another');
  expect(await closing({ id: agent.id })).toBe('enabled');
  expect(stopped).toEqual([]);
});

test('by the id of its registration it is ours all the same: disabled, marked anew, and stopped', async () => {
  await marks(undefined);
  expect(await closing({ id: agent.id })).toBe('stopped');
  expect(await azure.findAgent(poolId, agent.name)).toMatchObject({
    enabled: false,
    userCapabilities: { 'azp-fleet.owner': 'us', 'azp-fleet.disabled': 'drained' },
  });
});

test('an agent that somebody enables in the five seconds is not stopped', async () => {
  const enable = () => azure.setAgentEnabled(poolId, agent.id, true);
  expect(await closing({ meanwhile: enable })).toBe('enabled');
  expect(stopped).toEqual([]);
});

test('an agent that is gone from the pool gets no job any more: it is stopped', async () => {
  expect(await closing({ meanwhile: () => azure.deleteAgent(poolId, agent.id) })).toBe('stopped');
});
