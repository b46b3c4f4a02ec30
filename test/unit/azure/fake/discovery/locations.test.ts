// The table of resources, held against the service's own (recorded) and against what this server answers.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { management, protocol } from '../../../../../src/azure/fake/answer.ts';
import {
  locationOf,
  locations,
  locationsOf,
  type ResourceLocation,
} from '../../../../../src/azure/fake/discovery/locations.ts';

const recorded = (
  JSON.parse(readFileSync('test/fixtures/azure/resource-locations.json', 'utf8')) as {
    value: readonly ResourceLocation[];
  }
).value;
const routes = [...management, ...protocol].filter(([method]) => method !== 'OPTIONS');

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
