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

test('the default version has a digest in every kind of configuration', () => {
  const values = parseArguments(['run', '--url', 'https://dev.azure.com/lab', '--pool', 'p']).values;
  const file = {
    schema: 1,
    host: 'b',
    organization: 'https://dev.azure.com/lab',
    credential: { kind: 'pat' },
    pool: 'p',
  };
  const configs: readonly ManagerConfig[] = [
    standaloneConfig(values, 'box'),
    parseConfig(JSON.stringify(file), 'f'),
    config({ image: built('x64', defaultAgentVersion) }),
    config({ image: built('arm64', defaultAgentVersion) }),
    config({ image: { kind: 'registry', reference: 'me/agent:1' } }),
  ];
  for (const each of configs) {
    if (each.image.kind === 'build') expect(each.image.agentSha256).toMatch(digest);
    expect(hostAgent(each, 'x64')).toMatchObject({ version: defaultAgentVersion, sha256: isDigest });
  }
  expect(built('x64', defaultAgentVersion)).not.toEqual(built('arm64', defaultAgentVersion));
});

test.each(['5.279.0', '4.275.0'])('the digest of agent %s is known', (version) => {
  for (const arch of ['x64', 'arm64'] as const)
    expect(built(arch, version)).toMatchObject({ agentVersion: version, agentSha256: isDigest });
});

test('the digest of the inventory has priority; that of another version is unknown', () => {
  const own = 'ab'.repeat(32);
  expect(built('x64', defaultAgentVersion, own)).toMatchObject({ agentSha256: own });
  expect(built('x64', '5.300.0')).toMatchObject({ agentSha256: '' });
});
