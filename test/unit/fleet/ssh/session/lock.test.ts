import { describe, expect, test } from 'vitest';

import {
  freeInS,
  readLockLine,
  type LockAnswer,
  lockLost,
  locked,
  waitingFor,
} from '../../../../../src/fleet/ssh/session/lock.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { auditSuite, lockSuite } from './lock-cases.ts';

testSuite(lockSuite);
testSuite(auditSuite);

// The lines of the lock script, and the resulting messages.

const bob = { who: 'bob@desk', command: 'azp-fleet provision', since: '2026-11-21T01:00:00Z' };
const note = JSON.stringify({ ...bob, id: 'b' });
const heard = (...lines: readonly string[]) =>
  lines.reduce((answer, line) => readLockLine(answer, line), { word: 'none' } as LockAnswer);

describe('the lines of the lock script', () => {
  test.each([
    ['taken', ['locked'], { word: 'locked' }],
    ['taken after a break', [`broke ${note}`, 'locked'], { word: 'locked', broke: bob }],
    ['held by its owner', [`held 34 ${note}`], { word: 'held', owner: bob, silentS: 34 }],
    ['held, without the time of a heartbeat', [`held - ${note}`], { word: 'held', owner: bob }],
    ['held without a note', ['held - '], { word: 'held' }],
    ['passed to another owner', [`passed ${note}`], { word: 'passed', owner: bob }],
    ['passed to an unknown owner', ['passed '], { word: 'passed' }],
    ['unknown lines', ['Locked', 'locked!', 'a held'], { word: 'none' }],
    ['an invalid note', ['held 1 {"who":'], { word: 'held', silentS: 1 }],
    ['invalid seconds', [`held -9e9 ${note}`], { word: 'held', owner: bob }],
  ])('%s', (_, lines, answer) => {
    expect(heard(...lines)).toEqual(answer);
  });

  test('a note is cut and cleaned', () => {
    const evil = JSON.stringify({ who: 'e\u001B[2Jv\u202Eil'.repeat(999), command: 'x\ny', since: '' });
    const { owner } = heard(`held 0 ${evil}`);
    expect(owner?.who.length).toBeLessThanOrEqual(201);
    expect(JSON.stringify(owner)).not.toMatch(/\\u001b|\\n|\u202E/);
  });
});

describe('the lock of another user', () => {
  test.each([
    ['whose owner is alive', { word: 'held', silentS: 15 }, undefined],
    ['whose owner is a little late', { word: 'held', silentS: 29 }, undefined],
    ['whose owner is silent', { word: 'held', silentS: 30 }, 35],
    ['whose owner was silent for its whole time', { word: 'held', silentS: 60 }, 5],
    ['that should have ended long ago', { word: 'held', silentS: 65 }, undefined],
    ['without a heartbeat', { word: 'held' }, undefined],
    ['that we hold', { word: 'locked', silentS: 40 }, undefined],
  ] as const)('%s', (_, answer, seconds) => {
    expect(freeInS(answer)).toBe(seconds);
  });

  test('is waited for, with the remaining time', () => {
    expect(waitingFor({ word: 'held', owner: bob, silentS: 34 }, 31)).toBe(
      'waiting for the lock of bob@desk (azp-fleet provision, since 2026-11-21T01:00:00Z), silent for 34 s: at most 31 s',
    );
    expect(waitingFor({ word: 'held', silentS: 40 }, 25)).toMatch(
      /^waiting for the lock of another user, silent/,
    );
  });
});

describe('the error of a run that lost its lock', () => {
  test.each([
    ['names the owner', { word: 'held', owner: bob }, /^bob@desk holds it now \(azp-fleet provision, since/],
    ['names the last owner', { word: 'passed', owner: bob }, /^bob@desk held it since \(azp-fleet/],
    ['says that the last owner is unknown', { word: 'passed' }, 'its last owner is unknown'],
    ['says that another run holds it', { word: 'held' }, 'another run holds it'],
    ['names a possible cause', undefined, /laptop asleep/],
  ] as const)('%s', (_, answer, seen) => {
    const { problem } = lockLost('box', answer);
    expect(problem).toMatchObject({ code: 'ssh.lock-lost', host: 'box', step: 'lock' });
    expect(problem.seen).toMatch(seen);
  });

  test('the error of a second run names the run to wait for', () => {
    expect(locked('box', { word: 'held', owner: bob }).problem).toMatchObject({
      code: 'ssh.locked',
      what: 'bob@desk is working on this host',
      next: 'wait for bob@desk to finish; if that run has ended, add --break-lock',
    });
  });
});
