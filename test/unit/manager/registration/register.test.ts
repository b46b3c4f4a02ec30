import { expect, test } from 'vitest';
import { builtImage, defaultAgentVersion } from '../../../../src/shared/contract/agent-release.ts';
import { registeredVersion } from '../../../../src/manager/registration/register.ts';

const own = { kind: 'registry', reference: 'registry.example/agent:1' } as const;

test.each([
  ['an image that is built here', builtImage('x64'), '4.1.0', defaultAgentVersion],
  ['another image, with the version of the server', own, '4.281.0', '4.281.0'],
  ['another image that never ran', own, undefined, defaultAgentVersion],
  ['another image that was registered without a version', own, '0.0.0', defaultAgentVersion],
  ['another image with an invalid version on the server', own, 'latest', defaultAgentVersion],
])('%s', (_, image, known, version) => {
  expect(registeredVersion(image, known)).toBe(version);
});
