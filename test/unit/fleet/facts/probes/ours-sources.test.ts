import { expect, test } from 'vitest';

import { oursSourcesProbe } from '../../../../../src/fleet/facts/probes/ours.ts';

const parse = (stdout: string) => oursSourcesProbe.parse(stdout);
const folder = '/etc/apt/sources.list.d';

test('the name of a disabled source says who disabled it', () => {
  expect(parse(`free -,nvidia ${folder}/cuda.list.azp-fleet-nvidia.disabled`)).toEqual([
    {
      file: `${folder}/cuda.list`,
      aside: `${folder}/cuda.list.azp-fleet-nvidia.disabled`,
      by: 'nvidia',
      names: ['nvidia'],
      taken: false,
    },
  ]);
  expect(parse(`taken -,docker ${folder}/my own.list.disabled`)).toMatchObject([
    { file: `${folder}/my own.list`, by: undefined, names: ['docker'], taken: true },
  ]);
});

test.each([
  ['a source of no repository of azp-fleet, not disabled by it', `free - ${folder}/x.list.disabled`],
  ['no path', 'free -,docker x.list.disabled'],
  ['a path with a control character', `free -,docker ${folder}/\u001b[31m.list.disabled`],
  ['nothing', 'free'],
])('%s is left out', (_, line) => {
  expect(parse(line)).toEqual([]);
});
