import { afterEach, expect, test } from 'vitest';

import { applyFleet } from '../../../../src/fleet/apply/apply.ts';
import { surveyFleet } from '../../../../src/fleet/apply/fleet-survey.ts';
import type { HostOutcome } from '../../../../src/fleet/apply/outcome.ts';
import type { Fleet } from '../../../../src/fleet/inventory/fleet.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import type { AzureAgent, AzureClient } from '../../../../src/shared/azure/client.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import { desiredOf, merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

// Hosts that were degraded before any change, from the survey to the end of a run of `provision`.

const names = ['h0', 'h1', 'h2'];
const machines = new Map<string, FakeHost>();
afterEach(() => {
  machines.forEach((host) => host.close());
  machines.clear();
});
const of = (name: string): FakeHost => machines.get(name) ?? new FakeHost([]);

const since = '2026-11-20T00:00:00Z';
const slot = (agent: string): SlotStatus => ({
  slot: agent.slice(-1),
  agent,
  state: 'idle',
  gpus: [],
  pool: 'gpu-lab',
  since,
  jobsRun: 0,
  run: { id: 'r1', startedAt: since, agentId: 7, settings: 'now' },
  settings: 'now',
});
const shown = (name: string, disabled: readonly string[]): AzureAgent => ({
  id: 7,
  name,
  status: 'online',
  enabled: !disabled.includes(name),
  userCapabilities: {},
});

/** Creates a host with two agents, without GPUs, whose containers must be restarted. */
async function machine(name: string): Promise<FakeHost> {
  const host = new FakeHost([change('restart', { disturbs: 'containers' })]);
  host.status = managerStatus({ drains: [], slots: [slot(`${name}-0`), slot(`${name}-1`)] });
  host.facts = merge(host.facts, {
    gpus: [],
    docker: { active: true },
    manager: { current: '1', unitActive: 'active', status: host.status },
  });
  const { slots } = host.status;
  await host.serveManager((path) => {
    const [, order] = /^POST \/v1\/(drain|undrain)$/.exec(path) ?? [];
    if (order === undefined) return;
    const state = order === 'drain' ? 'drained' : 'idle';
    host.status = managerStatus({ drains: [], slots: slots.map((each) => ({ ...each, state })) });
  });
  return host;
}

/** `disabled`: agents disabled in the pool, for each listing in turn. */
async function provision(disabled: (listing: number) => readonly string[]): Promise<readonly HostOutcome[]> {
  for (const name of names) machines.set(name, await machine(name));
  let listing = 0;
  const client = {
    findPool: () => Promise.resolve({ id: 1, name: 'gpu-lab' }),
    listAgents: async () => {
      const now = disabled((listing += 1));
      return names.flatMap((name) => [shown(`${name}-0`, now), shown(`${name}-1`, now)]);
    },
  } as Partial<AzureClient> as AzureClient;
  const hosts = names.map((name) => ({ ...desiredOf({ pool: 'gpu-lab' }).host, name }));
  const tools = {
    ...of('h0').tools(),
    transport: {
      connect: (target: { readonly name: string }) =>
        of(target.name)
          .tools()
          .transport.connect(target as never),
      close: () => Promise.resolve(),
    },
    gather: (_: unknown, { name }: { readonly name: string }) => Promise.resolve(of(name).facts),
    plan: of('h0').tools().plan,
  };
  const fleet = { projects: [] as readonly string[], hosts } as Partial<Fleet> as Fleet;
  const onPools = () => undefined;
  const survey = await surveyFleet(fleet, hosts, client, tools, { follow: true, onPools });
  // The user confirms after the listing has expired.
  of('h0').clock.pass(60_000);
  return applyFleet(survey, client, tools, {
    exactFacts: false,
    probe: true,
    inventory: hosts,
    limits: defaultWaves,
    projects: [],
    adopt: false,
    onPools,
  });
}

const ends = (outcomes: readonly HostOutcome[]) =>
  outcomes.map(({ host, verdict, problem }) => [host, verdict?.state ?? problem?.what]);

test('an agent that was disabled before stops no wave', async () => {
  expect(ends(await provision(() => ['h0-0']))).toEqual([
    ['h0', 'degraded'],
    ['h1', 'healthy'],
    ['h2', 'healthy'],
  ]);
});

test('one of two disabled agents that is enabled during the run stops no wave', async () => {
  const outcomes = await provision((listing) => (listing === 1 ? ['h0-0', 'h0-1'] : ['h0-1']));
  expect(ends(outcomes)).toEqual([
    ['h0', 'degraded'],
    ['h1', 'healthy'],
    ['h2', 'healthy'],
  ]);
});

test('another agent than before stops the waves, and so does one whose pool did not answer before', async () => {
  const why =
    'not begun because the canary h0 failed: degraded: h0-1: disabled in pool gpu-lab, so it gets no jobs';
  const stopped = [
    ['h0', 'degraded'],
    ['h1', why],
    ['h2', why],
  ];
  expect(ends(await provision((listing) => (listing === 1 ? ['h0-0'] : ['h0-1'])))).toEqual(stopped);
  const silent = (listing: number) => {
    if (listing > 1) return ['h0-1'];
    throw new FleetError({ code: 'azure.unreachable', what: 'the server does not answer' });
  };
  machines.forEach((host) => host.close());
  expect(ends(await provision(silent))).toEqual(stopped);
});
