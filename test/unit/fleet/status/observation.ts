import type { AzureAgent } from '../../../../src/shared/azure/client.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import type { Facts } from '../../../../src/fleet/facts/facts.ts';
import { desiredOf, factsOf, merge } from '../../../support/host.ts';

export const now = Date.parse('2026-11-20T10:00:00Z');
const ago = (seconds: number): string => new Date(now - seconds * 1000).toISOString();

export const { host } = desiredOf({ agents: { kind: 'count', count: 2 }, gpus: 2 });

export const slot = (name: string, difference: Partial<SlotStatus> = {}): SlotStatus => ({
  slot: name,
  agent: `h200-1-${name}`,
  state: 'idle',
  gpus: [],
  pool: 'gpu-lab',
  since: ago(600),
  run: { id: 'r1', startedAt: ago(610), agentId: 1, settings: 'now' },
  settings: 'now',
  jobsRun: 3,
  ...difference,
});

export const status = (difference: Partial<ManagerStatus> = {}): ManagerStatus =>
  managerStatus({
    at: ago(10),
    host: 'h200-1',
    pool: { name: 'gpu-lab', id: 1 },
    configHash: 'x',
    image: { state: 'ready', reference: 'azp-fleet/agent:1' },
    slots: [slot('0'), slot('1')],
    health: {
      state: 'healthy',
      checkedAt: ago(12),
      gpus: [
        { uuid: 'GPU-1', name: 'NVIDIA H200' },
        { uuid: 'GPU-2', name: 'NVIDIA H200' },
      ],
      findings: [],
    },
    ...difference,
  });

/** Facts of a provisioned host. */
export const facts = (
  manager: Partial<Facts['manager']> = {},
  difference: Parameters<typeof factsOf>[0] = {},
): Facts =>
  merge(
    factsOf({
      gpus: ['0000:83:00.0', '0000:84:00.0'].map((address) => ({
        address,
        deviceId: '2335',
        boundTo: 'nvidia',
      })),
      driver: { loaded: '580.95.05' },
      docker: { serverVersion: '29.7.2', active: true },
      toolkit: { version: '1.20.0', cdiSpec: true },
      manager: {
        current: 'versions/1',
        unitActive: 'active',
        unitEnabled: true,
        status: status(),
        ...manager,
      },
    }),
    difference,
  );

export const agent = (name: string, difference: Partial<AzureAgent> = {}): [string, AzureAgent] => [
  `h200-1-${name}`,
  { id: 1, name: `h200-1-${name}`, enabled: true, status: 'online', ...difference },
];

export const pool = new Map([agent('0'), agent('1')]);
