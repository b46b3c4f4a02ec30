import { describe, expect, test } from 'vitest';

import { buildAddress } from '../../../../src/shared/azure/build-address.ts';

const cloud = 'https://dev.azure.com/example';
const legacy = 'https://example.visualstudio.com';
const server = 'https://tfs.lab.example/tfs/GPU';
const plain = 'https://azdo.lab.example:8443/Engineering';
const guid = '12f1170f-54f2-53f3-20dd-22fc7dff55f9';
const id = '1b1ab9a2-9b1c-4d6c-8f65-2f4f6d4b1a11';

describe('every form in which Azure DevOps shows a run', () => {
  test.each([
    ['4711', cloud, { build: 4711 }],
    [' #4711 ', cloud, { build: 4711 }],
    ['vstfs:///Build/Build/4711', cloud, { build: 4711 }],
    [`${cloud}/vision/_build/results?buildId=4711`, cloud, { build: 4711, project: 'vision' }],
    [`${cloud}/vision/_build/results?buildId=4711&view=results`, cloud, { build: 4711, project: 'vision' }],
    [`${cloud}/vision/_build?view=results&buildid=4711`, cloud, { build: 4711, project: 'vision' }],
    [`${cloud}/vision/_build/index?buildId=4711&_a=summary`, cloud, { build: 4711, project: 'vision' }],
    [`${cloud}/two%20words/_build/results/?buildId=4711#tab`, cloud, { build: 4711, project: 'two words' }],
    [`${cloud}/${id}/_build/results?buildId=4711`, cloud, { build: 4711, project: id }],
    [
      `https://DEV.azure.com/Example/vision/_build/results?buildId=4711`,
      cloud,
      { build: 4711, project: 'vision' },
    ],
    [
      `${cloud}/vision/_build/results?buildId=4711&view=logs&j=${guid.toUpperCase()}&t=${id}&s=${id}`,
      cloud,
      { build: 4711, project: 'vision', job: guid },
    ],
    [`${cloud}/vision/_build/results?buildId=4711&j=nonsense`, cloud, { build: 4711, project: 'vision' }],
    [`${cloud}/vision/_apis/build/Builds/4711`, cloud, { build: 4711, project: 'vision' }],
    [
      `${cloud}/vision/_apis/build/builds/4711/timeline?api-version=7.1`,
      cloud,
      { build: 4711, project: 'vision' },
    ],
    [`${legacy}/vision/_build/results?buildId=4711`, cloud, { build: 4711, project: 'vision' }],
    [
      `${legacy}/DefaultCollection/vision/_build/results?buildId=4711`,
      cloud,
      { build: 4711, project: 'vision' },
    ],
    [`${cloud}/vision/_build/results?buildId=4711`, legacy, { build: 4711, project: 'vision' }],
    [`${server}/vision/_build/results?buildId=4711`, server, { build: 4711, project: 'vision' }],
    [`http://TFS/tfs/gpu/vision/_build/results?buildId=4711`, server, { build: 4711, project: 'vision' }],
    [`${plain}/vision/_build/results?buildId=4711&view=results`, plain, { build: 4711, project: 'vision' }],
    [`${plain}/_apis/build/builds/4711`, plain, { build: 4711 }],
  ])('%s in %s', (text, organization, expected) => {
    expect(buildAddress(text, organization)).toEqual(expected);
  });
});

describe('anything else is refused', () => {
  test.each([
    ['', 'names no run'],
    ['0', 'names no run'],
    ['99999999999', 'names no run'],
    ['train', 'names no run'],
    ['-1', 'names no run'],
    ['file:///vision/_build/results?buildId=4711', 'names no run'],
    [`${cloud}/vision/_build?definitionId=12`, 'names a pipeline, not one of its runs'],
    [`${cloud}/vision/_build/results?buildId=x`, 'names no run'],
    [`${cloud}/vision/_workitems?buildId=4711`, 'names no run'],
    [`${cloud}/_settings/agentpools?poolId=1`, 'names no run'],
    ['https://dev.azure.com/other/vision/_build/results?buildId=4711', 'in another organization'],
    [`${server}/vision/_build/results?buildId=4711`, 'in another organization'],
  ])('%s', (text, what) => {
    expect(() => buildAddress(text, cloud)).toThrow(what);
  });

  test.each([
    ['https://tfs.lab.example/tfs/Other/vision/_build/results?buildId=4711', server],
    ['https://other.lab.example/tfs/GPU/vision/_build/results?buildId=4711', server],
    ['http://127.0.0.1:81/lab/vision/_build/results?buildId=4711', 'http://127.0.0.1:80/lab'],
  ])('%s is not in %s', (text, organization) => {
    expect(() => buildAddress(text, organization)).toThrow('in another organization');
  });

  test('no control characters of an address reach the screen', () => {
    expect(buildAddress(`${cloud}/a%1b%5b2Jb/_build/results?buildId=4711`, cloud).project).toBe('ab');
  });
});
