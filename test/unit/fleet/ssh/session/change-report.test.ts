// What the scripts about a change say, taken together over the connections on which they say it.
import { describe, expect, test } from 'vitest';

import { FleetError } from '../../../../../src/shared/base/errors.ts';
import { ChangeReport } from '../../../../../src/fleet/ssh/session/change-report.ts';

function reported(...lines: readonly string[]): ChangeReport {
  const report = new ChangeReport();
  for (const line of lines) report.control(line);
  return report;
}

function problemOf(report: ChangeReport) {
  try {
    report.result('box', 'x-1');
  } catch (error) {
    if (error instanceof FleetError) return error.problem;
    throw error;
  }
  throw new Error('it has a result');
}

describe('what ends a change', () => {
  test.each([
    ['its exit code', ['started inv-1', 'end 7'], { code: 7, tail: '', resumed: false }],
    [
      'that of one which somebody else had started',
      ['following inv-1 ann  o@laptop', 'end 0'],
      { code: 0, tail: '', resumed: true, startedBy: 'ann  o@laptop' },
    ],
    ['that there is none', ['none'], undefined],
  ])('%s is a result', (_, lines, result) => {
    expect(reported(...lines).result('box', 'x-1')).toEqual(result);
  });

  test.each([
    ['no code in its place, as on a full disk', ['started i', 'end '], 'ssh.change-died', '"" in its place'],
    ['a word in its place', ['started i', 'end 0x'], 'ssh.change-died', '"0x" in its place'],
    ['death', ['started i', 'dead Result=oom-kill'], 'ssh.change-died', 'Result=oom-kill'],
    ['death in time', ['started i', 'dead Result=timeout'], 'ssh.change-timeout', 'Result=timeout'],
    [
      'disappearance',
      ['started i', 'dead gone'],
      'ssh.change-died',
      'its unit is gone: the host was restarted, or somebody stopped it',
    ],
    [
      'another start',
      ['started i', 'dead replaced'],
      'ssh.change-died',
      'a later start of the same change in its place',
    ],
    [
      'a refusal',
      ['Failed to connect to bus', 'notstarted '],
      'ssh.change-not-started',
      'Failed to connect to bus',
    ],
    ['a refusal with its own reason', ['noise', 'notstarted it stays'], 'ssh.change-not-started', 'it stays'],
    ['no systemd', ['nosystemd'], 'ssh.no-systemd', undefined],
    ['doubt', ['Failed to connect to bus', 'unknown '], 'ssh.change-unknown', 'Failed to connect to bus'],
    ['no word at all: nobody knows whether it runs', ['started i'], 'ssh.change-unknown', 'none'],
    ['the end of the script before it said anything', ['Killed'], 'ssh.change-unknown', 'Killed'],
  ])('%s is none', (_, lines, code, seen) => {
    const problem = problemOf(reported(...lines));
    expect([problem.code, problem.seen]).toEqual([code, seen]);
    expect(problem).toMatchObject({ host: 'box', next: expect.stringMatching(/^[a-z]/) });
  });
});

describe('after a cut', () => {
  test('what was never said to be there may have to be started', () => {
    const report = reported('some noise');
    report.output(Buffer.alloc(0));
    report.cut();
    expect(report.joined).toBeUndefined();
  });

  test('what was there is followed from its last whole line, which comes again', () => {
    const report = reported('started inv-1');
    report.output(Buffer.from('one\ntw'));
    report.output(Buffer.from('o, cu'));
    report.cut();
    expect(report.joined).toEqual({ offset: 4, invocation: 'inv-1' });
    report.output(Buffer.from('two, whole\n'));
    report.control('end 0');
    expect(report.result('box', 'x-1')).toMatchObject({ code: 0, tail: 'one\ntwo, whole\n' });
  });

  test('what has an output was started, though the word that says so was cut off', () => {
    const report = new ChangeReport();
    report.output(Buffer.from('x'));
    report.cut();
    expect(report.joined).toEqual({ offset: 0, invocation: '' });
  });

  test('the last word is that of the last connection', () => {
    const report = reported('started inv-1', 'unknown');
    report.cut();
    expect(problemOf(report).code).toBe('ssh.change-unknown');
    report.control('end 3');
    expect(report.result('box', 'x-1')).toMatchObject({ code: 3 });
  });
});
