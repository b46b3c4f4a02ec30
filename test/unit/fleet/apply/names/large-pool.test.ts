// Names that somebody else has, in a pool that nobody lists whole. The server is the practice server.
import { expect, test } from 'vitest';

import { lookAgain, lookForHeldNames } from '../../../../../src/fleet/apply/names/look.ts';
import { StillClock } from '../../../../support/clock.ts';
import { desiredOf, factsOf } from '../../../../support/host.ts';
import { useFake } from '../../../practice/azure/server.ts';

const server = useFake();
const host = { ...desiredOf({ pool: 'gpu', agents: { kind: 'count', count: 2 } }).host, name: 'box' };

test('are found with all that their owner has, by few calls', async () => {
  const client = server.client();
  const { pool } = await client.ensurePool('gpu');
  await server.control.makeAgents({ pool: 'gpu', count: 400 });
  await server.control.makeAgents({ pool: 'gpu', count: 1, namePattern: 'box-{n}' });
  await server.control.makeAgents({ pool: 'gpu', count: 3, namePattern: 'theirs-{n}' });
  for (const name of ['box-1', 'theirs-1', 'theirs-2', 'theirs-3']) {
    const agent = await client.findAgent(pool.id, name);
    await client.setUserCapabilities(pool.id, agent?.id ?? 0, {
      'azp-fleet.owner': 'them',
      'azp-fleet.host': 'other',
    });
  }
  const clock = new StillClock();
  const last = (await server.control.requests()).at(-1)?.n ?? 0;
  const asked = async () =>
    (await server.control.requests(last))
      .filter(({ path }) => path.endsWith('/agents'))
      .map(({ query }) => /agentName=[^&]*|demands=[^&]*/u.exec(query)?.[0] ?? 'all');
  const { held, blocked } = await lookForHeldNames(client, [{ host, facts: factsOf() }], clock);
  expect(blocked.size).toBe(0);
  expect(held).toMatchObject([
    {
      names: [{ agent: 'box-1' }],
      holder: { owner: 'them', host: 'other', state: 'away' },
      others: ['theirs-1', 'theirs-2', 'theirs-3'],
    },
  ]);
  expect(await asked()).toEqual([
    'agentName=box-0',
    'agentName=box-1',
    'demands=azp-fleet.owner+-equals+them',
  ]);
  const [first] = held;
  if (first === undefined) throw new Error('nothing is held');
  expect(await lookAgain(client, first, factsOf(), clock)).toMatchObject([{ others: first.others }]);
  // One call more tells of the owner and all its agents.
  expect((await asked()).slice(3)).toEqual(['demands=azp-fleet.owner+-equals+them']);
});
