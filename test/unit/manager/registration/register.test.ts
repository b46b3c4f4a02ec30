import { expect, test } from 'vitest';
import { builtImage, defaultAgentVersion } from '../../../../src/shared/contract/agent-release.ts';
import { registeredVersion } from '../../../../src/manager/registration/register.ts';

const own = { kind: 'registry', reference: 'registry.example/agent:1' } as const;

test.each([
  ['an image that is built here', builtImage('x64'), '4.1.0', defaultAgentVersion],
  ['an image of another, as the server knows it', own, '4.281.0', '4.281.0'],
  ['an image of another that never ran', own, undefined, defaultAgentVersion],
  ['an image of another that was registered without a version', own, '0.0.0', defaultAgentVersion],
  ['an image of another of which the server has nonsense', own, 'latest', defaultAgentVersion],
])('%s', (_, image, known, version) => {
  expect(registeredVersion(image, known)).toBe(version);
});
