import { expect, test } from 'vitest';

import type { AzureClient } from '../../../../src/azure/client.ts';
import { poolLists } from '../../../../src/apply/proof/pool-lists.ts';
import { StillClock } from '../../../support/clock.ts';

test('who comes online between two looks is seen; hosts that look together cost one call', async () => {
  const clock = new StillClock();
  let status = 'offline';
  let calls = 0;
  const client = {
    findPool: () => Promise.resolve({ id: 1, name: 'gpu' }),
    listAgents: () => {
      calls += 1;
      return Promise.resolve([{ id: 7, name: 'h1-0', enabled: true, status }]);
    },
  } as unknown as AzureClient;
  const lists = poolLists(client, clock);
  const seen = async () => (await lists.of('gpu')).get('h1-0')?.status;
  expect(await Promise.all([seen(), seen(), seen()])).toEqual(['offline', 'offline', 'offline']);
  expect(calls).toBe(1);
  status = 'online';
  clock.pass(2000);
  expect(await seen()).toBe('online');
});
