import { describe, expect, it } from 'vitest';

import { FleetError } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import type { ManagerStatus } from '../../../src/contract/status.ts';
import { judgeAgents, judgeDrains } from '../../../src/apply/proof/prove.ts';
import { scriptFailure } from '../../../src/apply/script-failure.ts';
import { exitCodeOf, failure, type HostOutcome } from '../../../src/apply/outcome.ts';
import { managerStatus } from '../../support/manager-status.ts';

const slots = ['a-0', 'a-1'].map((agent) => ({
  slot: agent,
  agent,
  state: 'idle' as const,
  gpus: [],
  since: '',
  jobsRun: 0,
}));
const status = (parts: Partial<ManagerStatus> = {}) => managerStatus({ slots, ...parts });

describe('the verdict on the agents', () => {
  it.each<[string, ManagerStatus, string[], object | undefined]>([
    ['all online', status(), ['a-0', 'a-1', 'b-0'], undefined],
    ['some missing', status(), ['a-0'], { state: 'degraded', cause: 'not online in pool gpu-lab: a-1' }],
    ['none there', status(), [], { state: 'failed', cause: 'not online in pool gpu-lab: a-0, a-1' }],
    ['drained: none expected', status({ drained: true }), [], undefined],
    [
      'a problem that stops everything',
      status({ problems: [{ code: 'x', what: 'the token is not accepted', next: 'replace it' }] }),
      [],
      { state: 'failed', cause: 'the token is not accepted', next: 'replace it' },
    ],
  ])('%s', (_name, seen, online, expected) => {
    const verdict = judgeAgents(seen, new Map([['gpu-lab', new Set(online)]]));
    if (expected === undefined) expect(verdict).toBeUndefined();
    else expect(verdict).toMatchObject(expected);
  });
});

describe('the verdict on drains', () => {
  const mark = { reason: 'restart Docker', at: '2026-11-21T12:00:00Z', owner: 'ann@laptop' };
  it.each<[string, ManagerStatus, object | undefined]>([
    ['none', status({ drains: [] }), undefined],
    ['of a manager that does not tell', status({ drained: true }), undefined],
    ['a person’s is as it should be', status({ drained: true, drains: [mark] }), undefined],
    [
      'one that a run has left',
      status({ drained: true, drains: [{ ...mark, run: 'r0' }] }),
      {
        state: 'degraded',
        cause: 'whole host drained by a run of ann@laptop: restart Docker, since 2026-11-21 12:00 UTC',
        next: expect.stringContaining('azp-fleet undrain') as string,
      },
    ],
  ])('%s', (_name, seen, expected) => {
    expect(judgeDrains(seen)).toEqual(expected);
  });
});

const outcome = (
  state: HostOutcome['state'],
  verdict?: 'healthy' | 'degraded' | 'failed' | 'hung',
): HostOutcome => ({
  host: 'a',
  state,
  changes: 0,
  ...(verdict === undefined ? {} : { verdict: { state: verdict, cause: '', next: '' } }),
});
const caused = (error: unknown) => failure('a', error, silentLogger);

describe('the exit code', () => {
  it.each<[string, HostOutcome, number]>([
    ['well', outcome('ok', 'healthy'), 0],
    ['a degraded host works', outcome('changed', 'degraded'), 0],
    ['a GPU that failed', outcome('ok', 'failed'), 1],
    ['a hanging driver', outcome('ok', 'hung'), 1],
    ['a failed change', outcome('failed'), 1],
    ['nobody there', outcome('unreachable'), 1],
    ['a mistake of ours', caused(new TypeError('x is not a function')), 70],
  ])('%s', (_name, ended, expected) => {
    expect(exitCodeOf([outcome('ok'), ended])).toBe(expected);
  });
});

describe('a host that could not be worked on', () => {
  it.each([
    ['ssh.timeout', 'unreachable'],
    ['ssh.host-key-mismatch', 'unreachable'],
    ['ssh.auth', 'unreachable'],
    ['ssh.locked', 'failed'],
    ['ssh.sudo-password-needed', 'failed'],
    ['change.failed', 'failed'],
  ])('%s is %s', (code, state) => {
    expect(caused(new FleetError({ code, what: 'x' })).state).toBe(state);
  });
});

describe('a failed script', () => {
  it('is quoted by its last lines when it does not explain itself', () => {
    const { problem } = scriptFailure('install', 100, 'one\n\ntwo\nE: broken packages\n');
    expect(problem).toMatchObject({
      what: '"install" failed with exit code 100',
      seen: 'one\ntwo\nE: broken packages',
    });
  });

  it('explains itself with its last words, also over several lines', () => {
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
