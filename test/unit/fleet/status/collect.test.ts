// How status lists pools. The server is the practice server.
import { StillClock } from '../../../support/clock.ts';
import { describe, expect, test } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { machineRoot } from '../../../../src/shared/base/host-root.ts';
import { agentsToFind, listPools, observeHosts } from '../../../../src/fleet/status/collect.ts';
import { useFake } from '../../practice/azure/server.ts';
import { facts, host, now, status, slot } from './observation.ts';

const server = useFake();
const observations = [{ host, facts: facts({ status: status({ owner: 'us' }) }) }];
const problem = { code: 'ssh.unreachable', what: 'it is away' } as const;

/** Creates a pool with one of our agents and others; `asked` returns the later requests for its agents. */
async function pool(name: string, others: number) {
  const client = server.client();
  const made = (await client.ensurePool(name)).pool;
  if (others > 0) await server.control.makeAgents({ pool: name, count: others });
  await server.control.makeAgents({ pool: name, count: 1, namePattern: 'h200-{n}-0' });
  const ours = await client.findAgent(made.id, 'h200-1-0');
  await client.setUserCapabilities(made.id, ours?.id ?? 0, { 'azp-fleet.owner': 'us' });
  const last = (await server.control.requests()).at(-1)?.n ?? 0;
  const asked = async () =>
    (await server.control.requests(last))
      .filter(({ path }) => path.endsWith('/agents'))
      .map(({ query }) => /agentName=[^&]*|demands=[^&]*/u.exec(query)?.[0] ?? 'all');
  return { client, asked };
}

test('an error with one host, also a bug of azp-fleet, is the problem of that host only', async () => {
  const connect = () => Promise.reject(new TypeError('x is not a function'));
  const logged: string[] = [];
  const observations = await observeHosts([host, { ...host, name: 'other' }], {
    transport: { connect, close: () => Promise.resolve() },
    root: machineRoot,
    clock: new StillClock(),
    emit: () => undefined,
    log: { ...silentLogger, log: (_level, message) => logged.push(message) },
    signal: new AbortController().signal,
    parallel: 2,
    probe: undefined,
  });
  expect(observations.map(({ host: { name }, problem }) => [name, problem?.code])).toEqual([
    [host.name, 'bug'],
    ['other', 'bug'],
  ]);
  expect(logged).toEqual(['bug', 'bug']);
});

describe('interrupted while hosts are read', () => {
  async function interrupted(names: readonly string[], whenConnecting: () => void, stop: AbortController) {
    const [connected, logged]: [string[], string[]] = [[], []];
    const reading = observeHosts(
      names.map((name) => ({ ...host, name })),
      {
        transport: {
          connect: ({ name }) => {
            connected.push(name);
            whenConnecting();
            return Promise.reject(new Error('connection closed'));
          },
          close: () => Promise.resolve(),
        },
        root: machineRoot,
        clock: new StillClock(),
        emit: () => undefined,
        log: { ...silentLogger, log: (_level, message) => logged.push(message) },
        signal: stop.signal,
        parallel: 1,
        probe: undefined,
      },
    );
    const outcome = await reading.then(
      () => 'read',
      (error: unknown) => (error as Error).message,
    );
    await new Promise((resolve) => setImmediate(resolve));
    return { outcome, connected, logged };
  }

  test('the read ends; no host gets a problem, and no other host is connected to', async () => {
    const stop = new AbortController();
    expect(await interrupted(['h1', 'h2', 'h3'], () => stop.abort(), stop)).toEqual({
      outcome: 'connection closed',
      connected: ['h1'],
      logged: [],
    });
  });

  test('interrupted before the first host, it connects to none', async () => {
    const stop = new AbortController();
    stop.abort(new Error('Ctrl-C'));
    expect(await interrupted(['h1'], () => undefined, stop)).toEqual({
      outcome: 'Ctrl-C',
      connected: [],
      logged: [],
    });
  });
});

describe('the pools of a status', () => {
  test('a small one is listed before the hosts are observed', async () => {
    const { client, asked } = await pool('small', 20);
    const never = () => Promise.reject(new Error('not needed'));
    const { agents } = await listPools(client, ['small'], never, now);
    expect(agents.get('small')?.size).toBe(21);
    expect(await asked()).toEqual(['all']);
  });

  test('of a large one only the agents of the hosts are requested, by owner and by name', async () => {
    const { client, asked } = await pool('large', 300);
    const inLarge = observations.map((observation) => ({
      ...observation,
      facts: facts({
        status: status({
          owner: 'us',
          pool: { name: 'large', id: 1 },
          slots: ['0', '1'].map((name) => slot(name, { pool: 'large' })),
        }),
      }),
    }));
    const requests = async (name: string) => agentsToFind(inLarge, name);
    const { agents, problems } = await listPools(client, ['large'], requests, now);
    expect([[...(agents.get('large')?.keys() ?? [])], problems]).toEqual([['h200-1-0'], []]);
    expect(await asked()).toEqual(['demands=azp-fleet.owner+-equals+us', 'agentName=h200-1-1']);
  });

  test('of an unreachable host the names are those of the inventory', () => {
    const away = [{ host: { ...host, pool: 'gpu-lab' }, problem }];
    expect(agentsToFind(away, 'gpu-lab')).toEqual([{ names: ['h200-1-0', 'h200-1-1'] }]);
    expect(agentsToFind(away, 'another')).toEqual([{ names: [] }]);
  });

  test('a queue that cannot be read is unknown with its reason, and no problem', async () => {
    const { client } = await pool('busy', 0);
    const refused = new FleetError({ code: 'azure.permission', what: 'it may not read the queue' });
    const listed = await listPools(client, ['busy', 'none'], async () => [], now);
    expect(listed.queues).toEqual([{ pool: 'busy', jobs: { waiting: 0, running: 0 } }]);
    const without = Object.assign(client, { unfinishedRequests: () => Promise.reject(refused) });
    const { agents, queues, problems } = await listPools(without, ['busy'], async () => [], now);
    expect(queues).toEqual([{ pool: 'busy', unknown: 'it may not read the queue' }]);
    expect([agents.get('busy')?.size, problems]).toEqual([1, []]);
  });

  test('each that cannot be listed is a separate problem', async () => {
    const { client } = await pool('away', 0);
    await server.control.setToken('expired');
    const { agents, problems } = await listPools(client, ['away', 'small'], async () => [], now);
    expect([...agents.values()]).toEqual([undefined, undefined]);
    expect(problems.map(({ code }) => code)).toEqual(['azure.auth', 'azure.auth']);
  });
});
