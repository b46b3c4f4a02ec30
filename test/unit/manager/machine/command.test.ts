import { expect, test } from 'vitest';
import { runCommand } from '../../../../src/manager/machine/command.ts';

test('code and both streams', async () => {
  const { code, output, timedOut } = await runCommand('sh', ['-c', 'echo out; echo err >&2; exit 7'], 5000);
  expect({ code, timedOut }).toEqual({ code: 7, timedOut: false });
  expect(output.split('\n').sort()).toEqual(['', 'err', 'out']);
});

test('what a script started is ended with it', async () => {
  const result = await runCommand('sh', ['-c', 'echo begun; sleep 60; echo never'], 200);
  expect(result).toMatchObject({ code: -1, timedOut: true, output: 'begun\n' });
  await expect.poll(() => result.stillRunning()).toBe(false);
});

test('a program that is not there', async () => {
  const { code, output } = await runCommand('/nowhere/nvidia-smi', [], 5000);
  expect({ code, output }).toEqual({ code: -1, output: expect.stringContaining('ENOENT') });
});
