import { expect, test } from 'vitest';

import { createAgentReleases, readRelease } from '../../../../src/shared/azure/agent-releases.ts';
import { patCredential } from '../../../../src/shared/azure/http/credential.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import { StillClock } from '../../../support/clock.ts';
import { useFake } from '../../practice/azure/server.ts';

const release = (major: unknown, minor: unknown, patch: unknown) => ({
  value: [{ type: 'agent', version: { major, minor, patch } }, { version: { major: 1, minor: 0, patch: 0 } }],
});

test.each<[string, unknown, string | undefined]>([
  ['a list', release(5, 279, 0), '5.279.0'],
  ['no package', { value: [] }, undefined],
  ['no list', { value: 'all' }, undefined],
  ['a text instead of a number', release('5', 279, 0), undefined],
  ['a negative number', release(5, -1, 0), undefined],
  ['a number that is too large', release(5, 1e9, 0), undefined],
  ['no version', { value: [{ type: 'agent' }] }, undefined],
  ['a web page', undefined, undefined],
])('%s', (_, answer, version) => {
  expect(readRelease(answer)).toBe(version);
});

const fake = useFake();
const client = (pat: string) =>
  createAgentReleases({
    organization: fake.server.organization,
    credential: patCredential(new Secret(pat)),
    log: silentLogger,
    signal: new AbortController().signal,
    clock: new StillClock(),
  });

test('the practice server offers an agent; a refusal leaves it unknown, with the reason', async () => {
  expect(await client('good-token').newest('x64')).toEqual({ kind: 'value', value: '5.279.0' });
  expect(await client('wrong').newest('arm64')).toEqual({
    kind: 'unknown',
    why: expect.stringContaining('rejected') as string,
  });
});
