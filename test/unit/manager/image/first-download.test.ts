import { createHash } from 'node:crypto';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { ImageConfig } from '../../../../src/shared/contract/config.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';

let rig: ManagerRig;
beforeEach(async () => {
  rig = await ManagerRig.create();
});
afterEach(() => rig.close());

const name = 'vsts-agent-linux-x64-5.300.0.tar.gz';
const image: ImageConfig = {
  kind: 'build',
  base: 'ubuntu:24.04',
  agentVersion: '5.300.0',
  agentSha256: '',
  agentUrl: `https://downloads.example/${name}`,
};
const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

test('an agent without a known digest is built with the digest that this host saw first, also after a restart', async () => {
  rig.archive = 'first archive';
  await rig.start({ image });
  await rig.until('idle');
  expect(rig.docker.builds.map(({ args }) => args['AGENT_SHA256'])).toEqual([digest('first archive')]);
  expect((await rig.status()).archives).toMatchObject([{ archive: name, sha256: digest('first archive') }]);
  await rig.stop();
  rig.archive = 'second archive';
  await rig.start({ image: { ...image, base: 'ubuntu:22.04' } });
  await expect.poll(() => rig.docker.builds.length).toBe(2);
  expect(rig.docker.builds[1]?.args['AGENT_SHA256']).toBe(digest('first archive'));
});
