import { expect, test } from 'vitest';

import { registryOf } from '../../../../src/shared/image/reference.ts';

test.each([
  ['ubuntu:24.04', 'docker.io'],
  ['nvidia/cuda:13.2.1-base-ubuntu24.04', 'docker.io'],
  ['docker.io/library/ubuntu:24.04', 'docker.io'],
  ['index.docker.io/team/agent', 'docker.io'],
  ['registry.lab.example/gpu-agent:1', 'registry.lab.example'],
  ['Registry.Lab.Example/gpu-agent:1', 'registry.lab.example'],
  ['registry.lab.example:5000/a/b@sha256:00', 'registry.lab.example:5000'],
  ['10.0.0.5:5000/agent', '10.0.0.5:5000'],
  ['localhost/agent:1', 'localhost'],
  ['localhost:5000', 'docker.io'],
])('%s comes from %s', (reference, registry) => {
  expect(registryOf(reference)).toBe(registry);
});
