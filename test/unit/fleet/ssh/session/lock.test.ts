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
import { lockSuite } from './lock-cases.ts';

testSuite(lockSuite);

// What the host says of its lock, and what follows from it.

const bob = { who: 'bob@desk', command: 'azp-fleet provision', since: '2026-11-21T01:00:00Z' };
const note = JSON.stringify({ ...bob, id: 'b' });
const heard = (...lines: readonly string[]) =>
  lines.reduce((answer, line) => readLockLine(answer, line), { word: 'none' } as LockAnswer);

describe('what the lock script says', () => {
  test.each([
    ['that it is ours', ['locked'], { word: 'locked' }],
    ['that it was broken for us', [`broke ${note}`, 'locked'], { word: 'locked', broke: bob }],
    ['whose it is', [`held 34 ${note}`], { word: 'held', owner: bob, silentS: 34 }],
    ['whose it is, and nothing of a sign of life', [`held - ${note}`], { word: 'held', owner: bob }],
    ['that it is held without a note', ['held - '], { word: 'held' }],
    ['who had it since', [`passed ${note}`], { word: 'passed', owner: bob }],
    ['that nobody knows who had it since', ['passed '], { word: 'passed' }],
    ['what is no word of it', ['Locked', 'locked!', 'a held'], { word: 'none' }],
    ['a note that is none', ['held 1 {"who":'], { word: 'held', silentS: 1 }],
    ['seconds that are none', [`held -9e9 ${note}`], { word: 'held', owner: bob }],
  ])('%s', (_, lines, answer) => {
    expect(heard(...lines)).toEqual(answer);
  });

  test('no note brings more than words', () => {
    const evil = JSON.stringify({ who: 'e\u001B[2Jv\u202Eil'.repeat(999), command: 'x\ny', since: '' });
    const { owner } = heard(`held 0 ${evil}`);
    expect(owner?.who.length).toBeLessThanOrEqual(201);
    expect(JSON.stringify(owner)).not.toMatch(/\\u001b|\\n|\u202E/);
  });
});

describe('the lock of somebody else', () => {
  test.each([
    ['whose owner lives', { word: 'held', silentS: 15 }, undefined],
    ['whose owner is a little late', { word: 'held', silentS: 29 }, undefined],
    ['whose owner is silent', { word: 'held', silentS: 30 }, 35],
    ['whose owner was silent for its whole time', { word: 'held', silentS: 60 }, 5],
    ['that should have ended long ago', { word: 'held', silentS: 65 }, undefined],
    ['of which nothing is known', { word: 'held' }, undefined],
    ['that is ours', { word: 'locked', silentS: 40 }, undefined],
  ] as const)('%s', (_, answer, seconds) => {
    expect(freeInS(answer)).toBe(seconds);
  });

  test('is waited for with the time that is left', () => {
    expect(waitingFor({ word: 'held', owner: bob, silentS: 34 }, 31)).toBe(
      'waiting for the lock of bob@desk (azp-fleet provision, since 2026-11-21T01:00:00Z), silent for 34 s: at most 31 s',
    );
    expect(waitingFor({ word: 'held', silentS: 40 }, 25)).toMatch(
      /^waiting for the lock of another user, silent/,
    );
  });
});

describe('who lost the lock is told', () => {
  test.each([
    ['who has it now', { word: 'held', owner: bob }, /^bob@desk holds it now \(azp-fleet provision, since/],
    ['who had it since', { word: 'passed', owner: bob }, /^bob@desk held it since \(azp-fleet/],
    ['that nobody can tell', { word: 'passed' }, 'its last owner is unknown'],
    ['that somebody has it', { word: 'held' }, 'another run holds it'],
    ['what may have been', undefined, /laptop asleep/],
  ] as const)('%s', (_, answer, seen) => {
    const { problem } = lockLost('box', answer);
    expect(problem).toMatchObject({ code: 'ssh.lock-lost', host: 'box', step: 'lock' });
    expect(problem.seen).toMatch(seen);
  });

  test('and who comes second is told whom to wait for', () => {
    expect(locked('box', { word: 'held', owner: bob }).problem).toMatchObject({
      code: 'ssh.locked',
      what: 'bob@desk is working on this host',
      next: 'wait for bob@desk to finish; if that run has ended, add --break-lock',
    });
  });
});
