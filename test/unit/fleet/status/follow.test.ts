// How `status --watch` keeps its connections: what it asks and how often, and what it does when a host goes.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';

import { followHosts, pauseMs } from '../../../../src/fleet/status/follow.ts';
import type { Observation } from '../../../../src/fleet/status/row.ts';
import { valueOf } from '../../../../src/shared/base/reading.ts';
import { statusOf } from '../../../../src/fleet/facts/unread.ts';
import type { HostSpec } from '../../../../src/fleet/inventory/fleet.ts';
import type { Transport } from '../../../../src/fleet/ssh/transport.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { MovedClock } from '../../../support/clock.ts';
import { framesSaid, hostileHost } from '../../../support/hostile-host.ts';
import { workingFacts } from '../../../support/practice-fleet.ts';
import { testTransport } from '../../../support/transport.ts';
import { host, status } from './observation.ts';

const patience = { timeout: 60_000, interval: 5 };
const stops: (() => unknown)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0).toReversed()) await stop();
});

/** A host that answers, and counts how often its facts and its manager are asked. */
async function machine(name: string) {
  const asked = { facts: 0, manager: 0 };
  let answers = true;
  const socket = join(mkdtempSync(join(tmpdir(), 'azp-follow-')), 'manager.sock');
  const manager = createServer((_, response) => {
    asked.manager += 1;
    if (!answers) return response.writeHead(500).end('{}');
    return response.end(JSON.stringify(status({ host: name, configHash: String(asked.manager) })));
  }).listen(socket);
  await once(manager, 'listening');
  const served = await hostileHost({
    managerSocket: socket,
    answer: (script) => {
      asked.facts += 1;
      return framesSaid(script, workingFacts(name));
    },
  });
  stops.push(() => {
    served.leave();
    manager.close();
  });
  const ssh = {
    ...host.ssh,
    address: '127.0.0.1',
    port: served.port,
    user: 'lab',
    loginPassword: { env: 'secret' },
  };
  return {
    asked,
    served,
    spec: { ...host, name, ssh } satisfies HostSpec,
    fail: () => (answers = false),
  };
}

/** Follows hosts; waits are 500 times as short. */
function follow(hosts: readonly HostSpec[], connect?: (real: Transport) => Transport['connect']) {
  const transport = testTransport();
  const clock = new MovedClock(500);
  const stop = new AbortController();
  const seen: Observation[] = [];
  const following = followHosts(
    hosts,
    {
      transport: connect === undefined ? transport : { connect: connect(transport) },
      root: machineRoot,
      clock,
      log: silentLogger,
      signal: stop.signal,
      parallel: 10,
    },
    (observation) => seen.push(observation),
  );
  stops.push(async () => {
    stop.abort();
    await transport.close();
    await following;
  });
  const of = (name: string) => seen.filter((each) => each.host.name === name);
  return { clock, of };
}

test.each([
  ['ssh.timeout', [0, 5, 10, 20, 40, 60, 60, 60]],
  ['ssh.auth', [0, 5, 10, 20, 40, 80, 160, 320, 600, 600]],
  ['ssh.host-key-mismatch', [0, 5, 10, 20, 40, 80]],
])('the pauses after %s grow', (code, seconds) => {
  expect(seconds.map((_, index) => pauseMs(code, index + 1) / 1000)).toEqual(seconds);
});

test('over one connection the facts are read once and then the manager is asked; after a minute the facts again', async () => {
  const { spec, asked, served } = await machine('h1');
  const { clock, of } = follow([spec]);
  await vi.waitUntil(() => asked.manager >= 3, patience);
  expect(asked.facts).toBe(1);
  const reports = of('h1').map(({ facts }) => facts && valueOf(statusOf(facts))?.configHash);
  expect(reports.slice(1, 3)).toEqual(['1', '2']);
  clock.passed += 60_000;
  await vi.waitUntil(() => asked.facts >= 2, patience);
  expect(served.methods().filter((method) => method === 'password')).toHaveLength(1);
});

test('the host’s clock advances with the answers', async () => {
  const { spec, asked } = await machine('h1');
  const { clock, of } = follow([spec]);
  await vi.waitUntil(() => of('h1').length >= 1, patience);
  clock.passed += 30_000;
  await vi.waitUntil(() => of('h1').length >= 3 && asked.facts === 1, patience);
  const [first, later] = [of('h1')[0], of('h1').at(-1)];
  expect((later?.facts?.time ?? 0) - (first?.facts?.time ?? 0)).toBeGreaterThanOrEqual(30_000);
  expect((later?.readAt ?? 0) - (first?.readAt ?? 0)).toBe(
    (later?.facts?.time ?? 0) - (first?.facts?.time ?? 0),
  );
});

test('of a manager that does not answer the facts are read', async () => {
  const { spec, asked, fail } = await machine('h1');
  fail();
  const { of } = follow([spec]);
  await vi.waitUntil(() => asked.facts >= 3, patience);
  expect(of('h1').filter(({ problem }) => problem !== undefined)).toEqual([]);
});

test('a host that goes is reported each time, and the other one is asked as before', async () => {
  const [gone, kept] = [await machine('gone'), await machine('kept')];
  const { of } = follow([gone.spec, kept.spec]);
  await vi.waitUntil(() => of('gone').length > 0 && kept.asked.manager > 0, patience);
  gone.served.leave();
  await vi.waitUntil(() => of('gone').at(-1)?.problem?.code === 'ssh.refused', patience);
  const before = kept.asked.manager;
  await vi.waitUntil(() => kept.asked.manager >= before + 3, patience);
  expect(of('kept').filter(({ problem }) => problem !== undefined)).toEqual([]);
});

test('a host that could not be connected to is followed once it can', async () => {
  const { spec } = await machine('h1');
  let attempts = 0;
  const { of } = follow([spec], (real) => async (target, options) => {
    attempts += 1;
    if (attempts < 3) throw new FleetError({ code: 'ssh.timeout', what: 'no answer', next: '' });
    return real.connect(target, options);
  });
  await vi.waitUntil(() => of('h1').some(({ facts }) => facts !== undefined), patience);
  expect(
    of('h1')
      .map(({ problem }) => problem?.code)
      .slice(0, 3),
  ).toEqual(['ssh.timeout', 'ssh.timeout', undefined]);
});
