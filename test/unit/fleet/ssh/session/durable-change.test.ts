import fc from 'fast-check';
import { describe, expect, test, afterEach, vi } from 'vitest';

import { ChangeReport, LastBytes } from '../../../../../src/fleet/ssh/session/durable-change.ts';
import { FleetError } from '../../../../../src/shared/base/errors.ts';
import { testSuite } from '../../../../support/scratch/suite-tests.ts';
import { followChangeSuite } from './follow-change-cases.ts';
import { startChangeSuite } from './start-change-cases.ts';

testSuite(startChangeSuite);

testSuite(followChangeSuite);

// The result of a change, from the lines that its scripts print over one or more connections.

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
  throw new Error('the change has a result');
}

describe('the last line of a change', () => {
  test.each([
    ['the exit code', ['started inv1', 'end 7'], { code: 7, tail: '', resumed: false }],
    [
      'the exit code of a change that another user started',
      ['following inv1 ann  o@laptop', 'end 0'],
      { code: 0, tail: '', resumed: true, startedBy: 'ann  o@laptop' },
    ],
    ['no such change', ['none'], undefined],
  ])('%s is a result', (_, lines, result) => {
    expect(reported(...lines).result('box', 'x-1')).toEqual(result);
  });

  test.each([
    ['an empty exit code, as on a full disk', ['started i', 'end '], 'ssh.change-died', '""'],
    ['an invalid exit code', ['started i', 'end 0x'], 'ssh.change-died', '"0x"'],
    ['a killed unit', ['started i', 'dead Result=oom-kill'], 'ssh.change-died', 'Result=oom-kill'],
    ['a unit that timed out', ['started i', 'dead Result=timeout'], 'ssh.change-timeout', 'Result=timeout'],
    [
      'a missing unit',
      ['started i', 'dead gone'],
      'ssh.change-died',
      'its unit is missing: the host was restarted, or a user stopped it',
    ],
    [
      'a later start',
      ['started i', 'dead replaced'],
      'ssh.change-died',
      'replaced by a later start of the same change',
    ],
    [
      'a failed start',
      ['Failed to connect to bus', 'notstarted '],
      'ssh.change-not-started',
      'Failed to connect to bus',
    ],
    ['a failed start with a reason', ['noise', 'notstarted it stays'], 'ssh.change-not-started', 'it stays'],
    ['no systemd', ['nosystemd'], 'ssh.no-systemd', undefined],
    [
      'an unknown state',
      ['Failed to connect to bus', 'unknown '],
      'ssh.change-unknown',
      'Failed to connect to bus',
    ],
    ['no last line: whether it runs is unknown', ['started i'], 'ssh.change-unknown', 'none'],
    ['a script that was killed before its first line', ['Killed'], 'ssh.change-unknown', 'Killed'],
  ])('%s is an error', (_, lines, code, seen) => {
    const problem = problemOf(reported(...lines));
    expect([problem.code, problem.seen]).toEqual([code, seen]);
    expect(problem).toMatchObject({ host: 'box', next: expect.stringMatching(/^[a-z]/) });
  });
});

describe('after a cut', () => {
  test('a change that was not reported may need a start', () => {
    const report = reported('some noise');
    report.output(Buffer.alloc(0));
    report.cut();
    expect(report.joined).toBeUndefined();
  });

  test('a reported change is followed from its last whole line, which is sent again', () => {
    const report = reported('started inv1');
    report.output(Buffer.from('one\ntw'));
    report.output(Buffer.from('o, cu'));
    report.cut();
    expect(report.joined).toEqual({ offset: 4, invocation: 'inv1' });
    report.output(Buffer.from('two, whole\n'));
    report.control('end 0');
    expect(report.result('box', 'x-1')).toMatchObject({ code: 0, tail: 'one\ntwo, whole\n' });
  });

  test('a change with output was started, even if the line that reports it was cut off', () => {
    const report = new ChangeReport();
    report.output(Buffer.from('x'));
    report.cut();
    expect(report.joined).toEqual({ offset: 0, invocation: '' });
  });

  test('the last connection decides the result', () => {
    const report = reported('started inv1', 'unknown');
    report.cut();
    expect(problemOf(report).code).toBe('ssh.change-unknown');
    report.control('end 3');
    expect(report.result('box', 'x-1')).toMatchObject({ code: 3 });
  });
});

// The last bytes of output, which comes in chunks of any size.

afterEach(() => vi.restoreAllMocks());

const byte = fc.integer({ min: 0, max: 255 });
const chunks = fc.array(fc.array(byte, { maxLength: 12 }).map((bytes) => Buffer.from(bytes)));

test('however it is cut, it is the end of the output', () => {
  fc.assert(
    fc.property(chunks, fc.integer({ min: 1, max: 9 }), (parts, limit) => {
      const last = new LastBytes(limit);
      for (const part of parts) last.push(Buffer.from(part.map((each) => each % 128)));
      const whole = Buffer.concat(parts).map((each) => each % 128);
      expect(last.toString()).toBe(Buffer.from(whole.subarray(-limit)).toString());
    }),
  );
});

test('dropped bytes are removed, as far as they are still stored', () => {
  const ascii = fc.array(fc.stringMatching(/^[a-z]{0,9}$/), { minLength: 1 });
  fc.assert(
    fc.property(ascii, fc.nat(12), fc.stringMatching(/^[a-z]{0,9}$/), (parts, dropped, more) => {
      const last = new LastBytes(8);
      for (const part of parts) last.push(Buffer.from(part));
      const whole = parts.join('');
      last.drop(dropped);
      const left = whole.slice(-8).slice(0, -dropped || undefined);
      expect(last.toString()).toBe(left);
      last.push(Buffer.from(more));
      expect(last.toString()).toBe((left + more).slice(-8));
    }),
  );
});

test('a character without its first byte is left out', () => {
  const last = new LastBytes(5);
  last.push(Buffer.from('🙂é€'));
  expect(last.toString()).toBe('é€');
  last.push(Buffer.from('x'));
  expect(last.toString()).toBe('€x');
});

test('bytes that are no text are replaced', () => {
  const last = new LastBytes(5);
  last.push(Buffer.from([0x80, 0x61]));
  expect(last.toString()).toBe('�a');
});

test('1 MiB, byte by byte, is copied once, without allocations', () => {
  const last = new LastBytes(16_384);
  const allocations = [
    vi.spyOn(Buffer, 'alloc'),
    vi.spyOn(Buffer, 'allocUnsafe'),
    vi.spyOn(Buffer, 'concat'),
  ];
  const one = Buffer.from('x');
  let copied = 0;
  const copy = one.copy.bind(one);
  one.copy = (...parts) => {
    const bytes = copy(...parts);
    copied += bytes;
    return bytes;
  };
  const megabyte = 1024 * 1024;
  for (let count = 0; count < megabyte; count += 1) last.push(one);
  expect(copied).toBe(megabyte);
  expect(allocations.map(({ mock }) => mock.calls.length)).toEqual([0, 0, 0]);
  expect(last.toString()).toBe('x'.repeat(16_384));
});
