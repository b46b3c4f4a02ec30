// A server under two names, and below a virtual folder.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../../src/shared/base/clock.ts';
import { belowOrganization, ownUrl } from '../../../../../practice/azure/http/address.ts';
import { startFake, type FakeOptions, type RunningFake } from '../../../../../practice/azure/start.ts';
import { createAzureClient } from '../../../../../src/shared/azure/create-client.ts';
import { patCredential } from '../../../../../src/shared/azure/http/credential.ts';
import { agentFiles, generateAgentKey } from '../../../../../src/shared/azure/keys.ts';
import { silentLogger } from '../../../../../src/shared/base/log.ts';
import { Secret } from '../../../../../src/shared/base/secret.ts';
import { AgentSession } from '../../../../support/agent-session.ts';
import { newAgent } from '../server.ts';

describe('which calls are for the organisation', () => {
  test.each([
    ['lab', '/lab/_apis/projects', '/_apis/projects'],
    ['lab', '/LAB/_apis', '/_apis'],
    ['lab', '/lab/_apis/', '/_apis/'],
    ['lab', '/lab', ''],
    ['lab', '/laboratory/_apis', undefined],
    ['lab', '/', undefined],
    ['azdo/Engineering', '/azdo/Engineering/_apis', '/_apis'],
    ['azdo/Engineering', '/AZDO/engineering/vision/_apis/a%20b', '/vision/_apis/a%20b'],
    ['azdo/Engineering', '/azdo/_apis', undefined],
    ['azdo/Engineering', '/Engineering/_apis', undefined],
    ['our lab', '/our%20lab/_apis', '/_apis'],
    ['lab', '/%ZZ/_apis', undefined],
  ])('%s: %s is %s', (organization, path, below) => {
    expect(belowOrganization({ organization }, path)).toBe(below);
  });
});

test('without a public URL the server goes by the name that the caller used', () => {
  const place = { organization: 'our lab' };
  expect(ownUrl(place, 'azure.example:8080')).toBe('http://azure.example:8080/our%20lab');
});

describe('a server with a public URL, called by another name', () => {
  const publicUrl = 'https://tfs.example/azdo/Engineering';
  const closing: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
  });

  async function start(options: Partial<FakeOptions>): Promise<RunningFake> {
    const folder = mkdtempSync(join(tmpdir(), 'azure-'));
    writeFileSync(join(folder, 'token'), 'good-token', { mode: 0o600 });
    const server = await startFake({
      host: '127.0.0.1',
      port: 0,
      tokenFile: join(folder, 'token'),
      organization: 'azdo/Engineering',
      projects: ['vision'],
      clock: systemClock(1),
      ...options,
    });
    closing.push(async () => {
      await server.close();
      rmSync(folder, { recursive: true });
    });
    return server;
  }

  test('says that URL wherever it speaks of itself, and agents sign for it', async () => {
    const server = await start({ publicUrl });
    const client = createAzureClient({
      organization: server.organization,
      credential: patCredential(new Secret('good-token')),
      log: silentLogger,
      signal: new AbortController().signal,
      clock: systemClock(1),
    });
    const { pool } = await client.ensurePool('gpu');
    const key = await generateAgentKey();
    const agent = await client.createAgent(pool.id, newAgent('a-0', key));
    expect(agent).toMatchObject({ authorization: { authorizationUrl: `${publicUrl}/_apis/oauth2/token` } });
    expect(JSON.stringify(agent)).not.toContain('127.0.0.1');

    const { organization } = server;
    const files = agentFiles({ agent, pool, organization, key });
    const content = new Map<string, string>(files.map((file) => [file.name, file.content]));
    const oauthEndpointUrl = `${organization}/_apis/oauth2/token`;
    const data = { ...agent.authorization, authorizationUrl: oauthEndpointUrl, oauthEndpointUrl };
    const wrong = new Map([...content, ['.credentials', JSON.stringify({ data })]]);
    await expect(AgentSession.open(wrong)).rejects.toThrow('The audience is not this endpoint');
    const session = await AgentSession.open(content);
    await session.close();
  });
});
