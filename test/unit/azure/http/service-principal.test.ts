// Logging in as a service principal of Microsoft Entra ID. Entra and Azure DevOps are the fake server.
import { describe, expect, test } from 'vitest';
import type { AzureClient } from '../../../../src/azure/client.ts';
import { servicePrincipalCredential } from '../../../../src/azure/http/credential.ts';
import { systemClock, type Clock } from '../../../../src/base/machine/clock.ts';
import { Secret } from '../../../../src/base/secret.ts';
import { StillClock } from '../../../support/clock.ts';
import { problem, useFake } from '../fake/server.ts';

const fake = useFake();
const list = (client: AzureClient) => client.listPools();

describe('a service principal', () => {
  const principal = (secret: string, clock: Clock = systemClock(1)) =>
    servicePrincipalCredential({
      clientId: 'c',
      tenantId: 't',
      secret: new Secret(secret),
      authority: fake.server.origin,
      fetch: (url, init) => {
        tokens += 1;
        return fetch(url, init);
      },
      clock,
    });
  let tokens = 0;

  test('one token serves many calls and is renewed before it ends', async () => {
    tokens = 0;
    const clock = new StillClock();
    const client = fake.client({ credential: principal('good-token', clock) });
    await Promise.all([list(client), list(client)]);
    clock.wallAhead += 24 * 3_600_000;
    await list(client);
    expect(tokens, 'a clock that is set ends no token').toBe(1);
    clock.wallAhead -= 48 * 3_600_000;
    clock.pass(56 * 60_000);
    await list(client);
    expect(tokens).toBe(2);
  });

  test('a token that the server does not take any more is replaced at once', async () => {
    tokens = 0;
    const client = fake.client({ credential: principal('good-token') });
    await list(client);
    await fake.control.fail({ count: 1, status: 203 });
    expect(await list(client)).not.toHaveLength(0);
    expect(tokens).toBe(2);
  });

  test('a wrong secret is told in the words of Entra ID', async () => {
    const client = fake.client({ credential: principal('wrong') });
    expect(await problem(list(client))).toMatchObject({
      code: 'azure.auth',
      seen: 'AADSTS7000215: Invalid client secret provided.',
    });
  });
});
