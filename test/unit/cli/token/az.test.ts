// Asks a stand-in of az for tokens: what it is started with, what of its answer is taken, and which error each failure gives.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

import { type AzPlace, createToken, listTokens } from '../../../../src/cli/token/az.ts';
import { tokensUrl } from '../../../../src/cli/token/mint.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { type AzBehavior, AzStandIn } from '../../../support/az.ts';

const secret = 'minted0secret0minted0secret0minted0secret0minted0sec';
const expires = '2027-02-26T10:00:00.000Z';
let folder: string;
let az: AzStandIn;
let place: AzPlace;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'az-test-'));
  az = new AzStandIn(folder);
  az.behave({ secret });
  const url = 'https://vssps.dev.azure.com/example/_apis/tokens/pats';
  place = { env: { PATH: az.bin }, cwd: folder, signal: new AbortController().signal, url };
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

test('creates a token: for this organization only, by a private body file that has no secret and is removed', async () => {
  const token = await createToken(place, 'azp-fleet 1', expires);
  expect([token.secret.reveal(), token.expires]).toEqual([secret, expires]);
  const [call] = az.calls();
  expect(call?.body).toEqual({
    displayName: 'azp-fleet 1',
    scope: 'vso.agentpools_manage',
    validTo: expires,
    allOrgs: false,
  });
  expect(call?.mode).toBe(0o600);
  expect(call?.argv.slice(0, 7)).toEqual([
    'rest',
    '--method',
    'post',
    '--url',
    'https://vssps.dev.azure.com/example/_apis/tokens/pats?api-version=7.1-preview.1',
    '--resource',
    '499b84ac-1321-427f-aa17-267ca6975798',
  ]);
  expect(JSON.stringify(call)).not.toContain(secret);
  const file = call?.argv.find((each) => each.startsWith('@'))?.slice(1) ?? '';
  expect([file.endsWith('body.json'), existsSync(file)]).toEqual([true, false]);
});

test('lists the active tokens of all pages, without control characters', async () => {
  const tokens = ['one', '\u001b[31mtwo', 'three'].map((displayName) => ({
    displayName,
    validTo: '2026-12-01T00:00:00Z',
    scope: 'vso.agentpools_manage',
  }));
  az.behave({ tokens, pageSize: 1 });
  const listed = await listTokens(place);
  expect(listed.map(({ name }) => name)).toEqual(['one', 'two', 'three']);
  expect(listed[0]?.expires).toBe('2026-12-01T00:00:00.000Z');
});

describe('each failure has its code and its next action', () => {
  const organizationError = (message: string) => ({
    method: 'post' as const,
    reason: 'Forbidden',
    body: JSON.stringify({ $id: '1', message, typeKey: 'AccessException', errorCode: 0 }),
  });
  test.each<[string, AzBehavior, string, RegExp]>([
    ['not logged in', { isLoggedIn: false }, 'azure.az-login', /az login/],
    [
      'an ended login',
      {
        ownError:
          'AADSTS700082: The refresh token has expired due to inactivity.\nInteractive authentication is needed. Please run:\naz login',
      },
      'azure.az-login',
      /az login/,
    ],
    [
      'Conditional Access',
      {
        ownError: 'AADSTS53003: Access has been blocked by Conditional Access policies. Please run: az login',
      },
      'azure.az-policy',
      /administrator/,
    ],
    ['the sign-in page', { page: '<!DOCTYPE html><html>Sign In</html>' }, 'azure.az-login', /az login/],
    [
      'a service principal',
      { httpError: organizationError('Service principals are not allowed to perform this action.') },
      'azure.az-login',
      /as a user/,
    ],
    [
      'a user of another organization',
      { httpError: { ...organizationError('TF400813: not authorized'), reason: 'Unauthorized' } },
      'azure.az-refused',
      /az login/,
    ],
    [
      'a policy against long tokens',
      { patTokenError: 'patLifespanPolicyViolation' },
      'azure.az-policy',
      /valid-for/,
    ],
    [
      'tokens for one organization refused',
      { patTokenError: 'globalPatPolicyViolation' },
      'azure.az-policy',
      /policy/,
    ],
    [
      'creation disabled',
      { patTokenError: 'disablePatCreationPolicyViolation' },
      'azure.pat-disabled',
      /exception/,
    ],
    ['creation disabled, newer', { patTokenError: 'globalPATCreationBlocked' }, 'azure.pat-disabled', /.*/],
    ['another refusal', { patTokenError: 'invalidValidTo' }, 'azure.az-failed', /browser/],
    ['an answer without a token', { answer: { patToken: { token: 7 } } }, 'azure.az-failed', /browser/],
    ['a list instead of an answer', { answer: [secret] }, 'azure.az-failed', /browser/],
    [
      'a token with a line break',
      { answer: { patToken: { token: `${secret}\nX` } } },
      'azure.az-failed',
      /browser/,
    ],
    ['no JSON', { page: `token: ${secret}` }, 'azure.az-failed', /browser/],
    ['a crash that prints a token', { ownError: `crashed with ${secret}` }, 'azure.az-failed', /browser/],
  ])('%s', async (_, behavior, code, next) => {
    az.behave({ secret, ...behavior });
    const error = await createToken(place, 'azp-fleet 1', expires).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(FleetError);
    const { problem, cause } = error as FleetError;
    expect(problem).toMatchObject({ code, next: expect.stringMatching(next) as string });
    expect(`${JSON.stringify(problem)}${String(cause)}`).not.toContain(secret);
  });

  test('no az', async () => {
    mkdirSync(join(folder, 'empty'));
    const bare = { ...place, env: { PATH: join(folder, 'empty') } };
    await expect(listTokens(bare)).rejects.toMatchObject({
      problem: { code: 'azure.az-missing', next: expect.stringContaining('install the Azure CLI') as string },
    });
  });
});

test.each([
  ['https://dev.azure.com/example', 'example'],
  ['https://example.visualstudio.com', 'example'],
])('the tokens of %s', (organization, name) => {
  expect(tokensUrl(organization)).toBe(`https://vssps.dev.azure.com/${name}/_apis/tokens/pats`);
});
