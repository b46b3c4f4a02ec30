import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { followCommand, runCommand } from '../../../../src/manager/machine/command.ts';
import { followNew } from '../../../../src/manager/gpus/observe.ts';

test('a command returns its exit code and both streams', async () => {
  const { code, output, timedOut } = await runCommand(
    'sh',
    ['-c', 'echo out; echo err >&2; exit 7'],
    180_000,
  );
  expect({ code, timedOut }).toEqual({ code: 7, timedOut: false });
  expect(output.split('\n').sort()).toEqual(['', 'err', 'out']);
});

test('a timeout kills a script and its children', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'command-'));
  const begun = join(folder, 'begun');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => {
    vi.useRealTimers();
    rmSync(folder, { recursive: true });
  });
  const ended = runCommand('sh', ['-c', 'echo begun; : >"$0"; sleep 600; echo never', begun], 60_000);
  await expect.poll(() => existsSync(begun)).toBe(true);
  // What it has printed before is read in a turn of the event loop.
  for (let turn = 0; turn < 2; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  vi.advanceTimersByTime(60_000);
  const result = await ended;
  expect(result).toMatchObject({ code: -1, timedOut: true, output: 'begun\n' });
  await expect.poll(() => result.stillRunning()).toBe(false);
});

test('a missing program is reported', async () => {
  const { code, output } = await runCommand('/nowhere/nvidia-smi', [], 180_000);
  expect({ code, output }).toEqual({ code: -1, output: expect.stringContaining('ENOENT') });
});

test('each line is passed at once, and the program exits when it is aborted', async () => {
  const stop = new AbortController();
  const lines: string[] = [];
  const end = followCommand(
    'sh',
    ['-c', 'echo one; echo two; exec sleep 60'],
    (line) => {
      lines.push(line);
      if (line === 'two') stop.abort();
    },
    stop.signal,
  );
  expect(await end).toEqual({ complaint: '' });
  expect(lines).toEqual(['one', 'two']);
});

test.each([
  [
    'a program that exits returns its error output',
    'sh',
    ['-c', 'echo "no /dev/kmsg" >&2; exit 1'],
    /^no \/dev\/kmsg$/,
  ],
  ['a missing program is reported', '/nowhere/dmesg', [], /ENOENT/],
])('%s', async (_, program, args, complaint) => {
  const end = await followCommand(program, args, () => undefined, new AbortController().signal);
  expect(end.complaint).toMatch(complaint);
});

test('without /dev/kmsg no kernel log is read', async () => {
  const lines: string[] = [];
  const args = followNew({ prefix: '/nowhere' });
  const end = await followCommand('sh', args, (line) => lines.push(line), new AbortController().signal);
  expect({ lines, ...end }).toEqual({ lines: [], complaint: '/nowhere/dev/kmsg cannot be read' });
});

test('after its exit nothing is killed any more: another process may have its number by the deadline', async () => {
  const [set, clear] = [vi.spyOn(globalThis, 'setTimeout'), vi.spyOn(globalThis, 'clearTimeout')];
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await runCommand('true', [], 61_234)).toMatchObject({ code: 0, timedOut: false });
  const deadline = set.mock.results[set.mock.calls.findIndex(([, delay]) => delay === 61_234)];
  expect(deadline?.value).toBeDefined();
  // Not a count of all timers: another file's work may set one in the same process.
  expect(clear).toHaveBeenCalledWith(deadline?.value);
});
