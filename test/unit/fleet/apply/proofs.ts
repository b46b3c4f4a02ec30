import { expect } from 'vitest';

import { poolLists } from '../../../../src/fleet/apply/pool-lists.ts';
import { proveHost } from '../../../../src/fleet/apply/prove.ts';
import { statusRow, type StatusRow } from '../../../../src/fleet/status/row.ts';
import type { AzureAgent, AzureClient } from '../../../../src/shared/azure/client.ts';
import { HostPaths } from '../../../../src/shared/contract/paths.ts';
import type { ManagerStatus, SlotStatus } from '../../../../src/shared/contract/status.ts';
import { examineWithoutGpus } from '../../../../src/shared/health/checkup.ts';
import type { Verdict } from '../../../../src/shared/health/verdict.ts';
import { merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { FakeHost } from './fake-fleet.ts';

// A proof of a stand-in host and pool, and what `status` shows after it.

/** Fields of a slot without a run, as managers up to 0.1 always report it. */
export const none = { run: undefined, settings: undefined } as unknown as Partial<SlotStatus>;

const start = Date.parse('2026-11-20T10:00:00Z');
export const iso = (ms: number): string => new Date(start + ms).toISOString();

export const current = { id: 'r2', startedAt: iso(-5000), agentId: 7, settings: 'now' };
export const before = { id: 'r1', startedAt: iso(-90_000), agentId: 7, settings: 'before' };
export const slot = (name: string, difference: Partial<SlotStatus> = {}): SlotStatus => ({
  slot: name,
  agent: `h200-1-${name}`,
  state: 'idle',
  gpus: [],
  pool: 'gpu-lab',
  since: iso(-5000),
  run: current,
  settings: 'now',
  jobsRun: 0,
  ...difference,
});
export const online = (name: string, difference: Partial<AzureAgent> = {}): AzureAgent => ({
  id: 7,
  name: `h200-1-${name}`,
  enabled: true,
  status: 'online',
  userCapabilities: { 'azp-fleet.owner': 'us' },
  ...difference,
});

interface Scene {
  /** The manager's report this many milliseconds after the proof's start. */
  readonly manager: (ms: number) => Partial<ManagerStatus>;
  readonly agents: readonly AzureAgent[];
  readonly written?: string;
}

interface Proof {
  readonly verdict: Verdict;
  /** The row of `status --probe` for what the proof saw last. */
  readonly row: StatusRow;
  readonly progress: readonly string[];
  readonly notes: readonly string[];
  readonly tookMs: number;
}

export async function prove({ manager, agents, written = 'hash' }: Scene): Promise<Proof> {
  const host = new FakeHost([]);
  const report = (ms: number) =>
    managerStatus({ at: iso(ms), configHash: 'hash', owner: 'us', ...manager(ms) });
  host.facts = merge(host.facts, {
    gpus: [],
    docker: { active: true },
    files: { [HostPaths.config]: written },
    manager: { current: 'versions/1', unitActive: 'active', status: report(0) },
  });
  await host.serveManager(() => {
    host.status = report(host.clock.monotonic());
  });
  const client = {
    findPool: () => Promise.resolve({ id: 1, name: 'gpu-lab' }),
    listAgents: () => Promise.resolve(agents),
  } as Partial<AzureClient> as AzureClient;
  const survey = host.survey();
  const verdict = await proveHost(survey, poolLists(client, host.clock), host.tools());
  host.close();
  const { status } = host;
  const seen = merge(host.facts, { manager: { status } });
  const row = statusRow(
    { host: survey.host, facts: seen, probe: examineWithoutGpus(undefined) },
    () => new Map(agents.map((agent) => [agent.name, agent])),
    Date.parse(status?.at ?? ''),
  );
  return {
    verdict,
    row,
    progress: host.events.flatMap((event) =>
      event.kind === 'host-state' && event.state === 'proving' && event.text !== undefined
        ? [event.text]
        : [],
    ),
    notes: host.events.flatMap((event) => (event.kind === 'note' ? [event.text] : [])),
    tookMs: host.clock.monotonic(),
  };
}

/** Checks that `status` has the verdict of the proof. */
export function expectOneVerdict({ verdict, row }: Proof): void {
  expect(verdict).toEqual(row.verdict);
}
