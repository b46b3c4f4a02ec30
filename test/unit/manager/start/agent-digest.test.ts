import { expect, test } from 'vitest';
import { defaultAgentVersion, hostAgent } from '../../../../src/shared/contract/agent-release.ts';
import type { ImageConfig, ManagerConfig } from '../../../../src/shared/contract/config.ts';
import { parseArguments } from '../../../../src/manager/start/arguments.ts';
import { parseConfig, standaloneConfig } from '../../../../src/manager/start/configuration.ts';
import { managerConfig } from '../../../../src/fleet/steps/manager/config.ts';
import { desiredOf } from '../../../support/host.ts';
import { config } from '../../../support/manager-config.ts';

const digest = /^[0-9a-f]{64}$/;
const isDigest = expect.stringMatching(digest) as string;

function built(arch: 'x64' | 'arm64', version: string, x64?: string): ImageConfig {
  return managerConfig(desiredOf({ agent: { version, sha256: { x64, arm64: undefined } } }), arch).image;
}

test('the digest of the default version holds on every way to an agent', () => {
  const values = parseArguments(['run', '--url', 'https://dev.azure.com/lab', '--pool', 'p']).values;
  const file = { schema: 1, host: 'b', organization: 'o', credential: { kind: 'pat' }, pool: 'p' };
  const ways: readonly ManagerConfig[] = [
    standaloneConfig(values, 'box'),
    parseConfig(JSON.stringify(file), 'f'),
    config({ image: built('x64', defaultAgentVersion) }),
    config({ image: built('arm64', defaultAgentVersion) }),
    config({ image: { kind: 'registry', reference: 'me/agent:1' } }),
  ];
  for (const way of ways) {
    if (way.image.kind === 'build') expect(way.image.agentSha256).toMatch(digest);
    expect(hostAgent(way, 'x64')).toMatchObject({ version: defaultAgentVersion, sha256: isDigest });
  }
  expect(built('x64', defaultAgentVersion)).not.toEqual(built('arm64', defaultAgentVersion));
});

test.each(['5.279.0', '4.275.0'])('both lines of the agent have digests that are known: %s', (version) => {
  for (const arch of ['x64', 'arm64'] as const)
    expect(built(arch, version)).toMatchObject({ agentVersion: version, agentSha256: isDigest });
});

test('what the inventory says comes first; of another version nothing is known', () => {
  const own = 'ab'.repeat(32);
  expect(built('x64', defaultAgentVersion, own)).toMatchObject({ agentSha256: own });
  expect(built('x64', '5.300.0')).toMatchObject({ agentSha256: '' });
});
