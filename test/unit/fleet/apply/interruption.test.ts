import { afterEach, describe, expect, it } from 'vitest';

import { applyFleet } from '../../../../src/fleet/apply/apply.ts';
import { applyHost } from '../../../../src/fleet/apply/apply-host.ts';
import {
  interruptionLine,
  type Interruption,
  type HostOutcome,
} from '../../../../src/fleet/apply/outcome.ts';
import type { AzureClient } from '../../../../src/shared/azure/client.ts';
import type { SlotStatus } from '../../../../src/shared/contract/status.ts';
import { defaultWaves } from '../../../../src/fleet/inventory/schema/defaults.ts';
import { outcomeText } from '../../../../src/cli/render/outcome.ts';
import { merge } from '../../../support/host.ts';
import { managerStatus } from '../../../support/manager-status.ts';
import { change } from '../plan/changes.ts';
import { FakeHost } from './fake-fleet.ts';

const hosts: FakeHost[] = [];
afterEach(() => hosts.splice(0).forEach((host) => host.close()));

function hostNeeding(...changes: ConstructorParameters<typeof FakeHost>[0]): FakeHost {
  const host = new FakeHost(changes);
  hosts.push(host);
  return host;
}

const busy: SlotStatus = {
  slot: '0',
  agent: 'h200-1-0',
  state: 'busy',
  gpus: [],
  pool: 'gpu-lab',
  since: '2026-11-21T00:00:00Z',
  jobsRun: 0,
  job: 'train',
};

const provisioned = {
  docker: { active: true },
  manager: { current: 'versions/1', unitActive: 'active' },
} as const;

/** A server without agents. */
const emptyPools = {
  findPool: () => Promise.resolve({ id: 1, name: 'gpu-lab' }),
  listAgents: () => Promise.resolve([]),
} as Partial<AzureClient> as AzureClient;

/** Applies and proves as `provision` does. */
async function provision(host: FakeHost): Promise<HostOutcome | undefined> {
  const survey = {
    hosts: [host.survey()],
    failures: [],
    pools: { changes: [], blocked: new Map<string, never>() },
    held: [],
    agentsIn: () => undefined,
    lackedRights: [],
  };
  const options = {
    exactFacts: false,
    probe: true,
    inventory: survey.hosts.map((each) => each.host),
    limits: defaultWaves,
    projects: [],
    adopt: false,
    onPools: () => undefined,
  };
  return (await applyFleet(survey, emptyPools, host.tools(), options))[0];
}

describe('a signal at every effect', () => {
  const changes = () => [
    change('a'),
    change('b', { durable: false }),
    change('reboot', { reboot: true }),
    change('c'),
  ];
  it.each(Array.from({ length: 8 }, (_, index) => index + 1))(
    'number %i: the host is unlocked, and the next run makes the rest, each change once',
    async (effect) => {
      const first = hostNeeding(...changes());
      first.onLog = () => {
        if (first.log.length === effect) first.stop.abort();
      };
      const { state } = await applyHost(first.survey(), first.tools(), { exactFacts: false });
      expect(['skipped', 'changed']).toContain(state);
      // A reboot ends the lock.
      expect(first.log.at(-1)).toMatch(/^(unlock|reboot)$/);
      const next = hostNeeding(...changes());
      next.facts = first.facts;
      const outcome = await applyHost(next.survey(), next.tools(), { exactFacts: false });
      expect(['ok', 'changed']).toContain(outcome.state);
      const made = [...first.log, ...next.log].filter((line) => changes().some(({ id }) => id === line));
      expect(made.toSorted()).toEqual(['a', 'b', 'c', 'reboot']);
    },
  );
});

describe('a signal at every effect of a change that drains', () => {
  /** A host with a manager that runs no job; `before`: continues from what it left. */
  async function draining(before?: FakeHost): Promise<FakeHost> {
    const host = hostNeeding(change('restart', { disturbs: 'containers' }));
    host.facts = before?.facts ?? merge(host.facts, { manager: { unitActive: 'active' } });
    host.status = before?.status ?? managerStatus({ drains: [], slots: [{ ...busy, state: 'drained' }] });
    await host.serveManager(() => undefined);
    return host;
  }
  it.each(['lock', 'POST /v1/drain', 'restart', 'POST /v1/undrain', 'unlock'])(
    '%s: the agents are enabled again, and the next run makes the rest',
    async (effect) => {
      const first = await draining();
      first.onLog = (line) => {
        if (line.startsWith(effect)) first.stop.abort();
      };
      await applyHost(first.survey(), first.tools(), { exactFacts: false });
      expect(first.stop.signal.aborted).toBe(true);
      expect(first.status?.drains).toEqual([]);
      expect(first.log.at(-1)).toBe('unlock');
      const next = await draining(first);
      const { state } = await applyHost(next.survey(), next.tools(), { exactFacts: false });
      expect(['ok', 'changed']).toContain(state);
      expect([...first.log, ...next.log].filter((line) => line === 'restart')).toHaveLength(1);
      expect(next.status?.drains).toEqual([]);
    },
  );
});

describe('Ctrl-C', () => {
  it('during a change that continues on the host: names it, and counts those before', async () => {
    const host = hostNeeding(change('a'), change('b'));
    host.onRun = (script) => {
      if (script !== 'b') return undefined;
      host.begin('b');
      host.stop.abort();
      throw new Error('aborted');
    };
    expect(await applyHost(host.survey(), host.tools(), { exactFacts: false })).toEqual({
      host: 'h200-1',
      state: 'skipped',
      changes: 1,
      interrupted: {
        during: 'change',
        title: 'do b',
        continues: true,
        unit: 'azp-fleet-change-b.service',
      },
    });
  });

  it('when the change has just ended on the host: reports its end', async () => {
    const host = hostNeeding(change('a'));
    host.onRun = () => {
      host.end('a', 0);
      host.stop.abort();
      throw new Error('aborted');
    };
    expect(await applyHost(host.survey(), host.tools(), { exactFacts: false })).toMatchObject({
      interrupted: { during: 'change', title: 'do a', continues: false, unit: 'azp-fleet-change-a.service' },
    });
  });

  it('during a change that ends with the connection: reports that it may be half done', async () => {
    const host = hostNeeding(change('a', { durable: false }));
    host.onRun = () => {
      host.stop.abort();
      throw new Error('aborted');
    };
    expect(await applyHost(host.survey(), host.tools(), { exactFacts: false })).toMatchObject({
      changes: 0,
      interrupted: { during: 'change', title: 'do a', continues: false },
    });
  });

  it('while it waits for jobs: enables the agents, and reports that', async () => {
    const host = hostNeeding(change('restart', { disturbs: 'containers' }));
    host.facts = merge(host.facts, { manager: { unitActive: 'active' } });
    host.status = managerStatus({ drains: [], slots: [busy] });
    let asked = 0;
    await host.serveManager((path) => {
      if (path === 'GET /v1/status' && (asked += 1) === 2) host.stop.abort();
    });
    const outcome = await applyHost(host.survey(), host.tools(), { exactFacts: false });
    expect(outcome).toMatchObject({ state: 'skipped', changes: 0, interrupted: { during: 'drain' } });
    expect(host.log).toContain('POST /v1/undrain {"run":"run-1"}');
  });

  it('while it waits for jobs, with a manager that does not answer: reports that the agents stay drained', async () => {
    const host = hostNeeding(change('restart', { disturbs: 'containers' }));
    host.facts = merge(host.facts, { manager: { unitActive: 'active' } });
    host.status = managerStatus({ drains: [], slots: [busy] });
    let asked = 0;
    await host.serveManager((path) => {
      if (path !== 'GET /v1/status' || (asked += 1) !== 2) return;
      host.stop.abort();
      host.refuses = true;
    });
    await applyHost(host.survey(), host.tools(), { exactFacts: false });
    const notes = host.events.filter((event) => event.kind === 'note').map(({ text }) => text);
    expect(notes.at(-1)).toMatch(/^the agents could not be enabled again: .*azp-fleet undrain h200-1"$/u);
  });

  it('during the proof: counts the changes', async () => {
    const host = hostNeeding(change('a'), change('b'));
    host.facts = merge(host.facts, { ...provisioned, gpus: [] });
    host.status = managerStatus({ slots: [{ ...busy, state: 'starting' }] });
    let asked = 0;
    await host.serveManager(() => {
      if ((asked += 1) === 3) host.stop.abort();
    });
    const outcome = await provision(host);
    expect(outcome).toEqual({
      host: 'h200-1',
      state: 'skipped',
      changes: 2,
      interrupted: { during: 'proof' },
    });
    expect(outcomeText(outcome === undefined ? [] : [outcome], { color: false, width: 200 })).toContain(
      'h200-1  interrupted  2 changes made; interrupted while proving; run again to prove it',
    );
    expect(host.events.findLast((event) => event.kind === 'host-state')).toMatchObject({
      state: 'skipped',
      text: '2 changes made; interrupted while proving; run again to prove it',
    });
  });

  it('during the proof, with drained agents: the same', async () => {
    const host = hostNeeding(change('restart', { disturbs: 'containers' }));
    host.facts = merge(host.facts, { ...provisioned, gpus: [] });
    host.status = managerStatus({ drains: [], slots: [{ ...busy, state: 'drained' }] });
    let asked = 0;
    await host.serveManager((path) => {
      if (path.startsWith('POST /v1/undrain'))
        host.status = managerStatus({ drains: [], slots: [{ ...busy, state: 'starting' }] });
      if (host.log.includes('restart') && path === 'GET /v1/status' && (asked += 1) === 3) host.stop.abort();
    });
    expect(await provision(host)).toMatchObject({
      state: 'skipped',
      changes: 1,
      interrupted: { during: 'proof' },
    });
    expect(host.log).toContain('POST /v1/undrain {"run":"run-1"}');
  });

  it('before the first change: nothing was begun', async () => {
    const host = hostNeeding(change('a'));
    host.stop.abort();
    const outcome = await provision(host);
    expect(outcome).toEqual({ host: 'h200-1', state: 'skipped', changes: 0 });
  });
});

it.each<[number, Interruption | undefined, string]>([
  [0, undefined, 'nothing changed; interrupted before the first one; run again to continue'],
  [1, undefined, '1 change made; interrupted before the next one; run again to continue'],
  [
    0,
    { during: 'drain' },
    'nothing changed; interrupted while waiting for jobs, which continue; run again to continue',
  ],
  [
    2,
    { during: 'change', title: 'install Docker', continues: true },
    '2 changes made; interrupted during "install Docker", which continues on the host; run again to follow it',
  ],
  [
    0,
    { during: 'change', title: 'install Docker', continues: true, unit: 'azp-fleet-change-docker-1.service' },
    'nothing changed; interrupted during "install Docker", which continues on the host as azp-fleet-change-docker-1.service; run again to follow it',
  ],
  [
    0,
    {
      during: 'change',
      title: 'install Docker',
      continues: false,
      unit: 'azp-fleet-change-docker-1.service',
    },
    'nothing changed; interrupted during "install Docker", which has ended on the host since; run again to continue',
  ],
  [
    0,
    { during: 'change', title: 'write it', continues: false },
    'nothing changed; interrupted during "write it", which may be half done; run again to finish it',
  ],
])('%i changes, then %o', (changes, at, line) => {
  expect(interruptionLine(changes, at)).toBe(line);
});
