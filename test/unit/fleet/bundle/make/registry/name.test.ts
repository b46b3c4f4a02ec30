import { expect, it } from 'vitest';

import { digestName } from '../../../../../../src/fleet/bundle/make/registry/name.ts';

const digest = 'a'.repeat(64);

it.each([
  ['x', 'docker.io', 'registry-1.docker.io', 'library/x'],
  ['docker.io/x', 'docker.io', 'registry-1.docker.io', 'library/x'],
  ['nvidia/cuda:13', 'docker.io', 'registry-1.docker.io', 'nvidia/cuda'],
  ['index.docker.io/nvidia/cuda', 'docker.io', 'registry-1.docker.io', 'nvidia/cuda'],
  ['registry.lab/x', 'registry.lab', 'registry.lab', 'x'],
  ['registry.lab:5000/team/x/y:1.2', 'registry.lab:5000', 'registry.lab:5000', 'team/x/y'],
  ['localhost/x', 'localhost', 'localhost', 'x'],
])('%s by its digest', (named, registry, address, repository) => {
  expect(digestName(`${named}@sha256:${digest}`)).toEqual({ registry, address, repository, digest });
  expect(digestName(named)).toBeUndefined();
});
