import { describe, expect, test } from 'vitest';

import { explain, nearestCodes } from '../../../../src/cli/commands/explain.ts';
import { codeTables, findings } from '../../../../src/shared/base/codes/tables.ts';
import { runCommand } from '../../../support/command.ts';

describe('explain', () => {
  const codes = [...codeTables, findings].flatMap(({ entries }) => Object.keys(entries));
  test.each(codes)('%s has a cause and a fix', (code) => {
    expect(explain(code)).toMatchObject({
      code,
      cause: expect.stringMatching(/\w/),
      fix: expect.stringMatching(/\w/),
    });
  });

  test('a code is accepted as copied from a screen', async () => {
    const { exitCode, stdout } = await runCommand(['explain', '[ssh.auth]'], { cwd: '/' });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('ssh.auth · Connection to a host\n  cause     the host accepted none');
  });

  test('a finding has its title, its severity, and when it is not shown', async () => {
    const lines = async (code: string) => {
      const { stdout } = await runCommand(['explain', code], { cwd: '/' });
      return stdout.replaceAll(/\n {12}/g, ' ').split('\n');
    };
    expect(await lines('gpu.hot')).toContain(
      '  finding   GPU is too hot (warn); shown when it has lasted 60 s',
    );
    expect(await lines('cuda.not-ready')).toContainEqual(
      expect.stringMatching(
        /finding {3}CUDA is not ready \(fail\); .* 120 s; not shown beside driver\.not-loaded, /,
      ),
    );
    expect(explain('ssh.auth')?.finding).toBeNull();
  });

  test.each([
    ['xid.79', 'XID 79: the GPU has fallen off the bus', 'drain and reboot'],
    ['xid.48', 'XID 48: a double-bit memory error', 'nvidia-smi --gpu-reset -i ADDRESS'],
    ['xid.99999', 'XID 99999: an error that this version does not know', 'watch it'],
  ])("%s has the manager's cause and fix", (code, cause, fix) => {
    expect(explain(code)).toMatchObject({ code, cause, fix: expect.stringContaining(fix) });
  });
});

describe('an unknown code', () => {
  test.each([
    ['ssh.aut', ['ssh.auth', 'azure.auth', 'azure.auto-update']],
    ['gpu.hott', ['gpu.hot']],
    ['refused', ['ssh.refused', 'azure.refused', 'manager.refused', 'plan.refused', 'azure.az-refused']],
    ['smi', ['smi.hung', 'smi.ambiguous', 'smi.argument', 'smi.failed', 'smi.missing']],
    ['toString', []],
    ['zebra.crossing', []],
  ])('%s is answered with the nearest ones', (code, near) => {
    expect(new Set(nearestCodes(code))).toEqual(new Set(near));
  });

  test('exits with 2 and a next action', async () => {
    const { exitCode, stderr } = await runCommand(['explain', 'gpu.hott'], { cwd: '/' });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('✗ there is no code "gpu.hott" [usage.code]');
    expect(stderr).toContain('did you mean gpu.hot?');
  });
});
