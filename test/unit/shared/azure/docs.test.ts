// docs/azure.md: what the client does, and the line about it. Expected lines are written here by hand.
import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

import { negotiate } from '../../../../practice/azure/discovery/api-version.ts';
import { locationOf } from '../../../../practice/azure/discovery/locations.ts';
import { factTables, lines, samples, withAzureTables, type Line } from '../../../../scripts/azure-page.ts';
import { createAgentReleases } from '../../../../src/shared/azure/agent-releases.ts';
import { createAzureClient } from '../../../../src/shared/azure/create-client.ts';
import { createBuilds } from '../../../../src/shared/azure/builds.ts';
import { createTokenPermissions } from '../../../../src/shared/azure/token-permissions.ts';
import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { apiVersion } from '../../../../src/shared/azure/http/rest.ts';
import { createTestPipeline } from '../../../../src/shared/azure/test-run.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { StillClock } from '../../../support/clock.ts';

const page = readFileSync('docs/azure.md', 'utf8');
const organization = 'https://dev.azure.com/lab';

/** Everything that sends requests to Azure DevOps. Every GET returns an empty list, every other call a new entry. */
function recorded() {
  const sent: string[] = [];
  const options = {
    organization,
    credential: patCredential(new Secret('x')),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: new StillClock(),
    fetch: (url: string, { method }: { readonly method: string }) => {
      const { pathname, searchParams: query } = new URL(url);
      const version = query.get('api-version');
      query.delete('api-version');
      const path = pathname.slice('/lab/'.length).replaceAll(/\/\d+/gu, '/ID');
      const asked = [...query].map(([name, value]) => `${name}=${value}`).join('&');
      sent.push(`| \`${method} ${path}${asked === '' ? '' : `?${asked}`}\` | ${version} |`);
      const answer = method === 'GET' ? { value: [] } : { id: 1, name: 'NAME' };
      return Promise.resolve(Response.json(answer));
    },
  };
  return {
    sent,
    client: {
      ...createAzureClient(options),
      ...createTokenPermissions(options),
      ...createAgentReleases(options),
      ...createTestPipeline(options),
      ...createBuilds(options),
    },
  };
}

type Client = ReturnType<typeof recorded>['client'];

const pools = '_apis/distributedtask/pools';
const usual = 'includeCapabilities=true&includeAssignedRequest=true';
const details = `${usual}&includeLastCompletedRequest=true`;
const permission = 'PROJECT/_apis/pipelines/pipelinepermissions/queue/ID';
const agent = {
  name: 'NAME',
  version: '5',
  osDescription: 'Linux',
  systemCapabilities: {},
  publicKey: { exponent: 'AQAB', modulus: 'x' },
};

/** An action of the client, the request, its API version, and the versions that the service has. */
const cases: readonly (readonly [(client: Client) => Promise<unknown>, string, string, string])[] = [
  [(it) => it.findPool('NAME'), `GET ${pools}?poolName=NAME`, '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.managedPools(), `GET ${pools}?actionFilter=manage`, '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.listProjects(), 'GET _apis/projects?$top=1000', '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.ensurePool('NAME'), `POST ${pools}`, '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.setPoolAutoUpdate(1, false), `PATCH ${pools}/ID`, '7.1', 'released, 1.0 to 7.2'],
  [
    (it) => it.listAgents(1, { owner: 'OWNER' }),
    `GET ${pools}/ID/agents?${usual}&demands=azp-fleet.owner -equals OWNER`,
    '7.1',
    'released, 1.0 to 7.2',
  ],
  [
    (it) => it.findAgent(1, 'NAME'),
    `GET ${pools}/ID/agents?${details}&agentName=NAME`,
    '7.1',
    'released, 1.0 to 7.2',
  ],
  [(it) => it.getAgent(1, 2), `GET ${pools}/ID/agents/ID?${details}`, '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.createAgent(1, agent), `POST ${pools}/ID/agents`, '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.replaceAgent(1, 2, agent), `PUT ${pools}/ID/agents/ID`, '7.1', 'released, 1.0 to 7.2'],
  [(it) => it.setAgentEnabled(1, 2, false), `PATCH ${pools}/ID/agents/ID`, '7.1', 'released, 1.0 to 7.2'],
  [
    (it) => it.setUserCapabilities(1, 2, {}),
    `PUT ${pools}/ID/agents/ID/usercapabilities`,
    '7.1',
    'released, 1.0 to 7.2',
  ],
  [(it) => it.deleteAgent(1, 2), `DELETE ${pools}/ID/agents/ID`, '7.1', 'released, 1.0 to 7.2'],
  [
    (it) => it.unfinishedRequests(1),
    `GET ${pools}/ID/jobrequests?completedRequestCount=0`,
    '7.1',
    'released, 1.0 to 7.2',
  ],
  [
    (it) => it.requests(1),
    `GET ${pools}/ID/jobrequests?completedRequestCount=250`,
    '7.1',
    'released, 1.0 to 7.2',
  ],
  [(it) => it.getRequest(1, 2), `GET ${pools}/ID/jobrequests/ID`, '7.1', 'released, 1.0 to 7.2'],
  [
    (it) => it.findProject('PROJECT'),
    'GET PROJECT/_apis/distributedtask/queues',
    '7.1',
    'released, 2.0 to 7.2',
  ],
  [
    (it) => it.createQueue('PROJECT', { id: 1, name: 'NAME' }),
    'POST PROJECT/_apis/distributedtask/queues?authorizePipelines=false',
    '7.1',
    'released, 2.0 to 7.2',
  ],
  [(it) => it.start('PROJECT', 1), 'POST PROJECT/_apis/pipelines/ID/runs', '7.1', 'released, 5.1 to 7.2'],
  [
    (it) => it.wait('PROJECT', 1, { id: 1, url: '' }, 5000),
    'GET PROJECT/_apis/pipelines/ID/runs/ID',
    '7.1',
    'released, 5.1 to 7.2',
  ],
  [(it) => it.find('PROJECT', 1), 'GET PROJECT/_apis/build/builds/ID', '7.1', 'released, 1.0 to 7.2'],
  [
    (it) => it.timeline('PROJECT', 1),
    'GET PROJECT/_apis/build/builds/ID/timeline',
    '7.1',
    'released, 2.0 to 7.2',
  ],
  [
    (it) => it.parallelJobs(),
    'GET _apis/distributedtask/resourceusage?parallelismTag=Private&poolIsHosted=false',
    '7.1-preview.2',
    'preview only, 4.1 to 7.2',
  ],
  [
    (it) => it.parallelJobs(),
    'GET _apis/distributedtask/resourcelimits',
    '7.1-preview.1',
    'preview only, 5.0 to 7.2',
  ],
  [
    (it) => it.newest('x64'),
    'GET _apis/distributedtask/packages/agent?platform=linux-x64&$top=1',
    '7.1',
    'released, 1.0 to 7.2',
  ],
  [
    (it) => it.isQueueAuthorized('PROJECT', 1),
    `GET ${permission}`,
    '7.1-preview.1',
    'preview only, 5.1 to 7.2',
  ],
  [
    (it) => it.authorizeQueue('PROJECT', 1),
    `PATCH ${permission}`,
    '7.1-preview.1',
    'preview only, 5.1 to 7.2',
  ],
];

/** The rows of the table of calls: request, version, versions of the service; without use and evidence. */
const rows = [
  ...page.matchAll(/^\| (`(?:GET|POST|PUT|PATCH|DELETE) [^`]*`) \| .* \| (.*) \| (.*) \| .* \|$/gmu),
];

test.each(cases)(
  '%s: the page has the request that the client sends',
  async (does, request, version, service) => {
    const { client, sent } = recorded();
    // The answers are too short for some actions; only their requests count.
    await does(client).catch(() => undefined);
    expect(sent).toContain(`| \`${request}\` | ${version} |`);
    expect(rows.map(([, ...row]) => row)).toContainEqual([`\`${request}\``, version, service]);
  },
);

test('the page has no other request', () => {
  expect(rows).toHaveLength(cases.length);
});

const facts: readonly (readonly [string, readonly Line[], readonly string[]])[] = [
  ['no fact', [], ['']],
  [
    'a heading, a fact with two tests of one file, and one with two files',
    [
      { about: 'Pools' },
      { fact: 'a pool has an id', source: 'recorded', tests: ['test/a.test.ts: id', 'test/a.test.ts: b: c'] },
      { fact: 'names', source: 'KEDA', tests: ['test/b.test.ts: x', 'test/c.test.ts: y'] },
    ],
    [
      '### Pools',
      '',
      '| fact | source | tests |',
      '| --- | --- | --- |',
      '| a pool has an id | recorded | test/a.test.ts |',
      '| names | KEDA | test/b.test.ts; test/c.test.ts |',
    ],
  ],
];

test.each(facts)('the table of facts: %s', (_, given, expected) => {
  expect(factTables(given).split('\n')).toEqual(expected);
});

test('docs/azure.md is what "npm run docs" writes', () => {
  expect(page).toBe(withAzureTables(page));
});

test('a page without its markers is not written', () => {
  expect(() => withAzureTables('# Azure DevOps')).toThrow('has no markers');
});

test('docs/azure.md explains every error code, and no other', () => {
  const files = globSync(['src/shared/azure/**/*.ts', 'src/fleet/apply/*.ts']);
  const text = files.map((file) => readFileSync(file, 'utf8')).join('\n');
  const codes = (from: string, quote: string) =>
    new Set(
      [...from.matchAll(new RegExp(`${quote}(azure\\.[a-z-]+)${quote}`, 'gu'))].map(([, code]) => code),
    );
  expect(codes(page, '`')).toEqual(codes(text, "'"));
});

test('every fact has a source and tests that exist', () => {
  for (const { about, fact, source, tests } of lines) {
    if (about !== undefined) continue;
    expect(source, fact).toMatch(/\w{4}/u);
    expect(tests, fact).not.toEqual([]);
    for (const test of tests ?? []) {
      const [file = '', words = ''] = test.split(/: (.*)/su);
      expect(file).toMatch(/^test\/(?:unit\/.*\.test|lab\/.*\.test|support\/node-client\/[\w-]+)\.ts$/u);
      expect(readFileSync(file, 'utf8'), test).toContain(words);
      expect(words, test).not.toBe('');
    }
  }
});

test.each(Object.entries(samples))('%s requests a version that the service has', (_, call) => {
  const location = locationOf(call.path);
  if (location === undefined) throw new Error(`the service has no resource at ${call.path}`);
  const version = call.apiVersion ?? apiVersion;
  expect(negotiate(location, call.method, version)).toEqual({ version });
});
