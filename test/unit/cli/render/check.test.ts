// The exit codes and the first line of `status --check`, as a monitoring system reads them.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { checkExitCode, checkText } from '../../../../src/cli/render/check.ts';
import { hostCounts } from '../../../../src/cli/render/status.ts';
import { statusRow, type StatusRow } from '../../../../src/fleet/status/row.ts';
import type { Problem } from '../../../../src/shared/base/errors.ts';
import { runCommand } from '../../../support/command.ts';
import { facts, host, now, pool } from '../../fleet/status/observation.ts';

type State = StatusRow['verdict']['state'];
const well = statusRow({ host, facts: facts() }, () => pool, now);
const rowOf = (state: State, name = 'h200-1', cause = `it is ${state}`): StatusRow => ({
  ...well,
  host: name,
  verdict: { state, cause: state === 'healthy' ? '' : cause, next: '' },
});
const unlisted: Problem = { code: 'azure.permission', step: 'pool', what: 'pool gpu-lab cannot be read' };
const shown = (rows: readonly StatusRow[], problems: readonly Problem[] = []) =>
  checkText(rows, problems, { counts: hostCounts(rows), details: 'details: a | b\n' });

describe('the exit code is that of the worst host', () => {
  test.each<[number, readonly State[], readonly Problem[]]>([
    [0, ['healthy'], []],
    [0, ['off'], []],
    [1, ['degraded'], []],
    [2, ['failed'], []],
    [2, ['hung'], []],
    [2, ['unreachable'], []],
    [3, ['unknown'], []],
    [0, ['healthy', 'off'], []],
    [1, ['healthy', 'degraded', 'off'], []],
    [2, ['healthy', 'degraded', 'failed'], []],
    [3, ['degraded', 'unknown'], []],
    [2, ['unknown', 'unreachable', 'degraded'], []],
    [3, ['healthy'], [unlisted]],
    [3, ['degraded'], [unlisted]],
    [2, ['hung'], [unlisted]],
    [3, [], []],
  ])('%i: %j', (code, states, problems) => {
    const rows = states.map((state) => rowOf(state));
    expect(checkExitCode(rows, problems)).toBe(code);
  });
});

describe('the first line', () => {
  const first = (...given: Parameters<typeof shown>) => shown(...given).split('\n')[0];

  test('of a healthy fleet', () => {
    expect(first([rowOf('healthy', 'a'), rowOf('healthy', 'b')])).toBe(
      'AZP-FLEET OK - 2 hosts, all healthy | healthy=2 off=0 degraded=0 failed=0 hung=0 unreachable=0 unknown=0',
    );
  });

  test('names the worst problem, equal ones once, and the number of others', () => {
    const rows = [
      rowOf('degraded', 'a'),
      rowOf('failed', 'b', 'xid 79'),
      rowOf('failed', 'c', 'xid 79'),
      rowOf('hung', 'd'),
    ];
    expect(first(rows)).toContain(
      'AZP-FLEET CRITICAL - 4 hosts: 1 degraded, 2 failed, 1 hung; b, c failed: xid 79 (and 1 more) | ',
    );
    expect(first([rowOf('healthy', 'a'), rowOf('degraded', 'b')])).toContain(
      'AZP-FLEET WARNING - 2 hosts: 1 healthy, 1 degraded; b degraded: it is degraded | ',
    );
  });

  test('names what could not be read', () => {
    expect(first([rowOf('healthy')], [unlisted])).toContain(
      'AZP-FLEET UNKNOWN - 1 host: 1 healthy; pool gpu-lab cannot be read | ',
    );
  });

  test('is one line, also where a host answers several', () => {
    expect(first([rowOf('unreachable', 'a', 'no ssh:\n  Welcome\n  to b')])).toMatch(
      / a unreachable: no ssh: Welcome to b \| healthy=0 .*unknown=0$/,
    );
  });

  test('a bar begins performance data, so no text has one', () => {
    const text = shown([rowOf('failed', 'a', 'a | b')]);
    expect(text.match(/\|/g)).toHaveLength(1);
    expect(text).toContain('a failed: a ¦ b | healthy=0');
    expect(text).toContain('details: a ¦ b');
  });
});

describe('a run that cannot check exits with 3', () => {
  const cwd = mkdtempSync(join(tmpdir(), 'azp-check-'));
  afterAll(() => rmSync(cwd, { recursive: true }));
  writeFileSync(
    join(cwd, 'inventory.yaml'),
    'organization: https://dev.azure.com/example\ntoken: { env: NO_SUCH_TOKEN }\ndefaults: { pool: p }\nhosts: { a: {} }\n',
  );

  test.each([
    ['an unknown option', ['--chek'], "unknown option '--chek'"],
    ['an unknown host', ['b'], 'no host, group or label matches b'],
    ['no inventory', ['-i', 'none.yaml'], 'none.yaml'],
    ['no token', [], 'NO_SUCH_TOKEN'],
    ['an option with other exit codes', ['--drift'], '--check does not go with --drift'],
  ])('%s', async (_, more, what) => {
    const run = await runCommand(['status', '--check', ...more], { cwd });
    expect(run.exitCode).toBe(3);
    expect(run.stdout).toMatch(/^AZP-FLEET UNKNOWN - .*\n$/);
    expect(run.stdout).toContain(what);
    expect(run.stderr).toContain('✗ ');
  });

  test('with --json stdout is only the document', async () => {
    const { exitCode, stdout } = await runCommand(['status', '--check', '--json', 'b'], { cwd });
    expect(exitCode).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 3, problems: [{ code: expect.any(String) }] });
  });

  test('without --check, and for --check of other commands, the code stays', async () => {
    expect((await runCommand(['status', 'b'], { cwd })).exitCode).toBe(2);
    expect((await runCommand(['version', '--check', '--chek'], { cwd })).exitCode).toBe(2);
  });
});
