// The table of resources, held against the service's own (recorded) and against what this server answers.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { management, protocol, work } from '../../../../../practice/azure/answer.ts';
import { askedVersion, negotiate } from '../../../../../practice/azure/discovery/api-version.ts';
import {
  locationOf,
  locations,
  locationsOf,
  type ResourceLocation,
} from '../../../../../practice/azure/discovery/locations.ts';
import { isRouted } from '../../../../../practice/azure/http/router.ts';

const recorded = (
  JSON.parse(readFileSync('test/fixtures/azure/resource-locations.json', 'utf8')) as {
    value: readonly ResourceLocation[];
  }
).value;
const routes = [...management, ...protocol, ...work].filter(([method]) => method !== 'OPTIONS');

/** A path that fits a route's pattern, with and without its optional end. */
function samples(pattern: RegExp): string[] {
  const source = pattern.source.replace(/^\^|\$$/gu, '').replaceAll('\\/', '/');
  const filled = (text: string) =>
    text
      .replaceAll(/\((?:\?<\w+>)?(?:\\d\+|\[\^\/\]\+|\[\\da-f-\]\+|\[\\w-\]\+)\)|\[\^\/\]\+|\\d\+/gu, '7')
      .replaceAll(/\(\?:([^()]*)\)\??/gu, '$1');
  const optional = /\(\?:[^()]*(?:\([^()]*\)[^()]*)*\)\?/gu;
  return [...new Set([filled(source), filled(source.replaceAll(optional, ''))])];
}

test.each(locations)('$area $resourceName $id is as recorded', (location) => {
  expect(location).toEqual(recorded.find(({ id }) => id === location.id));
});

test.each(routes.map(([method, pattern]) => [`${method} ${pattern.source}`, pattern] as const))(
  'the route %s has its location',
  (_, pattern) => {
    for (const path of samples(pattern)) {
      expect(path, 'a path of plain parts').toMatch(/^[\w./-]+$/u);
      expect(pattern.test(path), path).toBe(true);
      expect(locationOf(path), path).toBeDefined();
    }
  },
);

/** Every path that a template allows: with none to all of the parameters at its end. */
function paths({ routeTemplate, area, resourceName }: ResourceLocation): string[] {
  const named = routeTemplate.replace('{area}', area).replace('{resource}', resourceName);
  // Pipelines have one hub.
  const parts = named.replace('{hubName}', 'build').split('/');
  const last = parts.findLastIndex((part) => !part.startsWith('{'));
  const filled = parts.map((part) => (part.startsWith('{') ? '7' : part));
  return filled.slice(last).map((_, more) => `/${filled.slice(0, last + 1 + more).join('/')}`);
}

test.each(
  locations.map((each) => [`${each.area} ${each.resourceName} ${each.routeTemplate}`, each] as const),
)('%s is served', (_, location) => {
  const served = paths(location).filter((path) => isRouted(routes, path));
  expect(served, paths(location).join(' ')).not.toEqual([]);
});

test("each request of the recorded agent's is for a resource, in a version that it has", () => {
  const requests = readFileSync('test/fixtures/agent/wire-5.278.jsonl', 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { url?: string; method: string; headers: Record<string, string> })
    .flatMap(({ url, ...rest }) => (url === undefined ? [] : [{ ...rest, url: new URL(url, 'http://a') }]))
    .filter(({ method, url }) => method !== 'OPTIONS' && !url.pathname.endsWith('/_apis/oauth2/token'));
  expect(requests.length).toBeGreaterThan(150);
  for (const { method, url, headers } of requests) {
    const location = locationOf(url.pathname.replace(/^\/lab/u, ''));
    if (location === undefined) throw new Error(`no location for ${url.pathname}`);
    // Polls that the agent ended itself were recorded without their headers.
    const asked = askedVersion(url.searchParams, headers);
    expect(negotiate(location, method, asked), `${method} ${url.pathname} ${asked}`).toHaveProperty(
      'version',
    );
  }
});

describe('which resource a path is about', () => {
  test.each([
    ['/_apis/distributedtask/pools', 'pools'],
    ['/_apis/distributedtask/pools/3', 'pools'],
    ['/_APIS/DistributedTask/Pools/3', 'pools'],
    ['/_apis/distributedtask/pools/3/agents', 'agents'],
    ['/_apis/distributedtask/pools/3/agents/5', 'agents'],
    ['/_apis/distributedtask/pools/3/agents/5/usercapabilities', 'usercapabilities'],
    ['/_apis/distributedtask/packages/agent/linux-x64/4.275.0', 'packages'],
    ['/vision/_apis/distributedtask/queues', 'queues'],
    ['/two%20words/_apis/pipelines/pipelinepermissions/queue/4', 'pipelinePermissions'],
    ['/vision/_apis/distributedtask/hubs/Build/plans/p/timelines/t/records', 'records'],
    ['/vision/_apis/distributedtask/hubs/Build/plans/p/timelines/t/records/r/feed', 'feed'],
    ['/_apis/ConnectionData', 'ConnectionData'],
    ['/_apis/resourceareas/7', 'ResourceAreas'],
    ['/_apis/projects/vision', 'projects'],
    ['/_apis/distributedtask', undefined],
    ['/_apis/git/repositories', undefined],
    ['/_apis/distributedtask/pools/3/agents/5/usercapabilities/more', undefined],
    ['/_apis/distributedtask/queues', undefined],
    ['/pools', undefined],
    ['', undefined],
  ])('%s: %s', (path, resource) => {
    expect(locationOf(path)?.resourceName).toBe(resource);
  });
});

test('an area is found in any case, and one resource of it', () => {
  expect(locationsOf('LOCATION').map(({ resourceName }) => resourceName)).toEqual([
    'ConnectionData',
    'ResourceAreas',
    'ServiceDefinitions',
  ]);
  expect(locationsOf('distributedtask', 'Pools')).toHaveLength(1);
  expect(locationsOf('git')).toEqual([]);
  expect(locationsOf()).toEqual(locations);
});
