import { describe, expect, it } from 'vitest';

import { FleetError } from '../../../../src/shared/base/errors.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { scriptFailure } from '../../../../src/fleet/apply/execute.ts';
import { exitCodeOf, failure, type HostOutcome } from '../../../../src/fleet/apply/outcome.ts';

const outcome = (
  state: HostOutcome['state'],
  verdict?: 'healthy' | 'degraded' | 'failed' | 'hung' | 'unknown',
): HostOutcome => ({
  host: 'a',
  state,
  changes: 0,
  ...(verdict === undefined ? {} : { verdict: { state: verdict, cause: '', next: '' } }),
});
const caused = (error: unknown) => failure('a', error, silentLogger);

describe('the exit code', () => {
  it.each<[string, HostOutcome, number]>([
    ['healthy', outcome('ok', 'healthy'), 0],
    ['a degraded host works', outcome('changed', 'degraded'), 0],
    ['a GPU that failed', outcome('ok', 'failed'), 1],
    ['a hung driver', outcome('ok', 'hung'), 1],
    ['a manager that does not report', outcome('ok', 'unknown'), 1],
    ['a failed change', outcome('failed'), 1],
    ['unreachable', outcome('unreachable'), 1],
    ['a bug of azp-fleet', caused(new TypeError('x is not a function')), 70],
  ])('%s', (_name, ended, expected) => {
    expect(exitCodeOf([outcome('ok'), ended])).toBe(expected);
  });
});

describe('a host that could not be changed', () => {
  it.each([
    ['ssh.timeout', 'unreachable'],
    ['ssh.host-key-mismatch', 'unreachable'],
    ['ssh.auth', 'unreachable'],
    ['ssh.locked', 'failed'],
    ['ssh.sudo-password-needed', 'failed'],
    ['change.failed', 'failed'],
  ] as const)('%s is %s', (code, state) => {
    expect(caused(new FleetError({ code, what: 'x' })).state).toBe(state);
  });
});

describe('a failed script', () => {
  it('is reported with its last lines if it printed no problem', () => {
    const { problem } = scriptFailure('install', 100, 'one\n\ntwo\nE: broken packages\n');
    expect(problem).toMatchObject({
      what: '"install" failed with exit code 100',
      seen: 'one\ntwo\nE: broken packages',
    });
  });

  it('is reported with the last problem that it printed, also over several lines', () => {
    const output =
      'failed: first try\nexpected: a\nseen: b\nnext: c\nagain\nfailed: no headers\nexpected: linux-headers-6.1\nseen: line 1\nline 2\nnext: apt-get install\n';
    expect(scriptFailure('x', 1, output).problem).toEqual({
      code: 'change.failed',
      what: 'no headers',
      expected: 'linux-headers-6.1',
      seen: 'line 1\nline 2',
      next: 'apt-get install',
    });
  });
});
