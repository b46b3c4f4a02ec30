import { describe, expect, test } from 'vitest';

import { FleetError, type Problem } from '../../../../src/shared/base/errors.ts';
import { problemLines, report } from '../../../../src/cli/render/problem.ts';
import { quietContext } from '../../../support/command.ts';

const plain = (problem: Problem, width = 80) =>
  problemLines(problem, width).map((line) => line.replaceAll(/\u001b\[\d+m/g, ''));

describe('a problem on the screen', () => {
  test('names host and step, then expected and seen, then the next action', () => {
    const problem: Problem = {
      code: 'ssh.host-key-mismatch',
      host: 'h200-1',
      step: 'connect',
      what: 'the host key is not the one on record',
      expected: 'SHA256:aaa',
      seen: 'SHA256:bbb',
      next: 'if the machine was reinstalled: ssh-keygen -R h200-1',
    };
    expect(plain(problem)).toEqual([
      '✗ h200-1 · connect: the host key is not the one on record',
      '  [ssh.host-key-mismatch]',
      '  expected  SHA256:aaa',
      '  seen      SHA256:bbb',
      '  next      if the machine was reinstalled: ssh-keygen -R h200-1',
    ]);
  });

  test('lists every mistake of an inventory below the heading', () => {
    const problem: Problem = {
      code: 'inventory.invalid',
      what: 'inventory.yaml has 2 mistakes',
      details: [
        {
          code: 'inventory.unknown-key',
          what: 'inventory.yaml:3:1 unknown key "hots"',
          next: 'did you mean hosts?',
        },
        { code: 'inventory.value', what: 'inventory.yaml:9:5 not a number' },
      ],
    };
    expect(plain(problem)).toEqual([
      '✗ inventory.yaml has 2 mistakes [inventory.invalid]',
      '  ✗ inventory.yaml:3:1 unknown key "hots" [inventory.unknown-key]',
      '    next      did you mean hosts?',
      '  ✗ inventory.yaml:9:5 not a number [inventory.value]',
    ]);
  });
});

describe('an error that ends the run', () => {
  const reported = (error: unknown, options: { interrupted?: boolean; json: boolean }) => {
    const { context, written } = quietContext({ cwd: '/' });
    const parts = {
      command: 'exec',
      interrupted: false,
      debug: false,
      check: false,
      logFile: '/log',
      ...options,
    };
    const exitCode = report(error, { context, ...parts });
    const { stdout, stderr } = written;
    return { exitCode, stdout, stderr };
  };
  const cut = new FleetError({ code: 'interrupted', host: 'a', what: 'interrupted' });

  test('is in the JSON document', () => {
    const { exitCode, stdout, stderr } = reported(new Error('oops'), { json: true });
    expect({ exitCode, stderr }).toEqual({ exitCode: 70, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 1,
      command: 'exec',
      exitCode: 70,
      problems: [{ code: 'bug', what: 'bug in azp-fleet: oops' }],
      log: '/log',
    });
  });

  test('is reported as canceled after an interruption; --json reports the interruption', () => {
    expect(reported(cut, { interrupted: true, json: false })).toEqual({
      exitCode: 130,
      stdout: '',
      stderr: 'canceled (exit 130) [interrupted]\n',
    });
    const { exitCode, stdout } = reported(cut, { interrupted: true, json: true });
    expect(exitCode).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 130, problems: [{ code: 'interrupted' }] });
  });
});
