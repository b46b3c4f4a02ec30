import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { builtImage, defaultAgentVersion } from '../../../../src/shared/contract/agent-release.ts';
import type { LaunchOrder } from '../../../../src/manager/docker/container.ts';
import {
  register,
  registeredVersion,
  type RegisterTools,
} from '../../../../src/manager/registration/register.ts';
import { StateStore } from '../../../../src/manager/state.ts';
import { StillClock } from '../../../support/clock.ts';
import { config } from '../../../support/manager-config.ts';
import { plainSlot } from '../../../support/slot.ts';
import { fault } from '../../../support/fault.ts';

const own = { kind: 'registry', reference: 'registry.example/agent:1' } as const;

test.each([
  ['an image that is built here', builtImage('x64'), '4.1.0', defaultAgentVersion],
  ['another image, with the version of the server', own, '4.281.0', '4.281.0'],
  ['another image that never ran', own, undefined, defaultAgentVersion],
  ['another image that was registered without a version', own, '0.0.0', defaultAgentVersion],
  ['another image with an invalid version on the server', own, 'latest', defaultAgentVersion],
])('%s', (_, image, known, version) => {
  expect(registeredVersion(image, known)).toBe(version);
});

describe('register', () => {
  let folder: string;
  let directory: string;
  /** The pool's entry of the name. */
  let entry: AzureAgent | undefined;
  /** The state on disk at each deletion. */
  let deletions: string[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'register-'));
    directory = join(folder, 'state');
    deletions = [];
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const open = () => StateStore.open(directory, 'machine-1');
  const clock = new StillClock();
  const kept = () => readFileSync(join(directory, 'manager.json'), 'utf8');

  /** Ends before anything is created: what is tested comes first. */
  const attempt = async (state: StateStore): Promise<unknown> => {
    const tools = {
      azure: {
        findAgent: async () => entry,
        unfinishedRequests: async () => [],
        deleteAgent: async () => {
          deletions.push(kept());
          return true;
        },
        replaceAgent: async () => Promise.reject(new Error('registered')),
        createAgent: async () => Promise.reject(new Error('registered')),
      },
      clock,
      config: config(),
      engine: { listOwn: async () => [] },
      host: { engine: { listOwn: async () => [] } },
      keys: { take: () => ({ publicKey: { exponent: '', modulus: '' } }) },
      log: silentLogger,
      state,
    } as unknown as RegisterTools;
    const order = {
      slot: plainSlot,
      pool: { id: 1, name: 'gpu-lab' },
      capabilities: {},
      key: { next: undefined, given: () => undefined },
      connection: { left: { until: '', leftS: 60, mayRenew: true }, renewed: () => undefined },
      agentVersion: () => '4.281.0',
    } as unknown as LaunchOrder;
    return register(tools, order).catch((error: unknown) => error);
  };

  describe('of an agent that left its session open', () => {
    const open7 = async (): Promise<StateStore> => {
      const state = await open();
      const userCapabilities = { 'azp-fleet.owner': state.owner, room: 'B12' };
      entry = { id: 7, name: 'box-0', enabled: false, status: 'online', userCapabilities };
      return state;
    };

    test('its values are on disk before its entry is deleted', async () => {
      await attempt(await open7());
      expect(deletions.map((text) => (JSON.parse(text) as { renewing: unknown }).renewing)).toMatchObject([
        { '0': { enabled: false, userCapabilities: { room: 'B12' } } },
      ]);
    });

    test('values that a job has blown up with its key do not fill the state', async () => {
      const state = await open7();
      const blown = Object.fromEntries(Array.from({ length: 9000 }, (_, index) => [`junk-${index}`, 'x']));
      entry = { ...entry, userCapabilities: { ...entry?.userCapabilities, ...blown } } as AzureAgent;
      await attempt(state);
      expect(deletions.map((text) => (JSON.parse(text) as { renewing: unknown }).renewing)).toEqual([
        { '0': { enabled: false } },
      ]);
    });

    fault('renewal-not-written', 'its entry is not deleted while its values cannot be written', async () => {
      const state = await open7();
      rmSync(directory, { recursive: true });
      // A mode does not stop root, who may run this test.
      writeFileSync(directory, 'a file where the folder was');
      expect(await attempt(state)).toMatchObject({ problem: { code: 'state.not-written' } });
      expect(deletions).toEqual([]);
    });
  });

  fault(
    'adoption-refused',
    'the permission to take a name over ends when its owner is not gone, also over a restart',
    async () => {
      const of = { 'azp-fleet.owner': 'another', 'azp-fleet.host': 'old-box' };
      const state = await open();
      await state.update(() => ({ adopt: ['0', '1'] }));
      entry = { id: 7, name: 'box-0', enabled: true, status: 'online', userCapabilities: of };
      expect(await attempt(state)).toMatchObject({ problem: { code: 'agent.name-held' } });
      // Its owner is gone for good now: without a new permission the name is not taken.
      entry = {
        ...entry,
        status: 'offline',
        statusChangedOn: new Date(clock.wall() - 3_600_000).toISOString(),
      };
      expect(await attempt(state)).toMatchObject({ problem: { code: 'agent.name-held' } });
      const again = await open();
      expect(again.value.adopt).toEqual(['1']);
      expect(await attempt(again)).toMatchObject({ problem: { code: 'agent.name-held' } });
      await again.update(() => ({ adopt: ['0'] }));
      expect(await attempt(again)).toMatchObject({ message: 'registered' });
    },
  );
});
