import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { tar } from '../../../../src/shared/base/tar.ts';
import { Helpers } from '../../../../src/manager/docker/janitor.ts';
import { register, type RegisterTools } from '../../../../src/manager/registration/register.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { StillClock } from '../../../support/clock.ts';
import { config } from '../../../support/manager-config.ts';
import { sharedKeys } from '../../../support/shared-keys.ts';
import { fault } from '../../../support/fault.ts';

let directory: string;
/** The entry of the agent in the pool. */
let entry: AzureAgent | undefined;
let isRunning: boolean;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'config-crash-'));
  entry = undefined;
  isRunning = true;
});
afterEach(() => rmSync(directory, { recursive: true }));

const killed = (): Promise<never> => Promise.reject(new Error('killed'));
const done = (): Promise<void> => Promise.resolve();

/** Returns the tools of a manager that was just started. config.sh creates or replaces an entry without an owner. */
async function manager(): Promise<RegisterTools> {
  const state = await StateStore.open(directory, 'machine-1');
  const azure = {
    findAgent: () => Promise.resolve(entry),
    setUserCapabilities: (_: number, __: number, userCapabilities: Record<string, string>) => {
      if (!isRunning) return killed();
      entry = { ...(entry as AzureAgent), userCapabilities };
      return done();
    },
    setAgentEnabled: done,
  };
  const engine = {
    listOwn: () => Promise.resolve([]),
    create: () => Promise.resolve('c'),
    putArchive: done,
    startWithInput: () => {
      entry = { id: entry?.id ?? 7, name: 'box-0', enabled: true, status: 'offline' };
      return done();
    },
    awaitEnd: () => Promise.resolve(0),
    getArchive: () => tar([{ path: '.agent', content: Buffer.from('{}'), mode: 0o600 }]),
    remove: done,
  };
  const tools = {
    azure,
    engine,
    state,
    config: config({ registration: 'config' }),
    helpers: new Helpers(),
    keys: sharedKeys,
    secret: () => Promise.resolve(new Secret('token')),
    certificates: () => Promise.resolve(undefined),
    clock: new StillClock(),
    log: silentLogger,
    host: { engine },
  };
  return tools as unknown as RegisterTools;
}

async function registered(): Promise<number> {
  const tools = await manager();
  const slot = { name: '0', agent: 'box-0', gpus: [], limits: {}, capabilities: [], mode: 'container' };
  const order = {
    slot,
    image: 'sha256:1',
    pool: { id: 1, name: 'gpu-lab' },
    capabilities: { 'azp-fleet.owner': tools.state.owner },
    connection: { left: undefined },
    key: { next: undefined },
  };
  const { agentId } = await register(tools, order as unknown as Parameters<typeof register>[1]);
  return agentId;
}

fault(
  'config-killed',
  'a manager that was killed before it wrote the owner of a config.sh entry continues with the entry',
  async () => {
    isRunning = false;
    await expect(registered()).rejects.toThrow('killed');
    isRunning = true;
    expect(entry?.userCapabilities).toBeUndefined();
    expect(await registered()).toBe(7);
    expect(entry?.userCapabilities).toHaveProperty('azp-fleet.owner');
  },
);

test('an agent that is registered later under the name belongs to another owner', async () => {
  await registered();
  entry = { id: 8, name: 'box-0', enabled: true, status: 'offline' };
  await expect(registered()).rejects.toMatchObject({ problem: { code: 'agent.name-held' } });
});
