import { PassThrough } from 'node:stream';

import { expect, test, vi } from 'vitest';

import type { Context } from '../../../../src/shared/base/context.ts';
import { silentLogger } from '../../../../src/shared/base/log.ts';
import { leftOnScreen } from '../../../support/screen.ts';
import { createProgress } from '../../../../src/cli/render/progress.ts';

function terminal() {
  const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 60, rows: 12 });
  let text = '';
  stderr.on('data', (chunk: Buffer) => {
    text += chunk.toString();
  });
  const unfiltered = { stderr, stdout: stderr };
  const context = {
    stderr,
    unfiltered,
    env: {},
    clock: { monotonic: () => 1_000 },
    log: silentLogger,
  } as unknown as Context;
  return { context, stderr, screen: () => text };
}

test('ends when the work ended before any host was started', async () => {
  const { context } = terminal();
  await createProgress(context, { hosts: ['a', 'b'], json: false }).finish();
});

test('keeps notes and problems, erases the list before the result, and shows the cursor', async () => {
  const { context, screen } = terminal();
  const progress = createProgress(context, { hosts: ['a', 'b'], json: false });
  progress.sink({ kind: 'note', text: 'new host key for a' });
  progress.sink({ kind: 'host-state', host: 'a', state: 'ok', text: 'no changes' });
  progress.sink({ kind: 'host-state', host: 'b', state: 'failed', text: 'no route' });
  await progress.finish();
  await progress.finish();
  expect(screen().slice(screen().lastIndexOf('\u001b[0J'))).toMatch(
    /^\u001b\[0J(new host key for a\n)?\u001b\[\?25h$/,
  );
  expect(screen()).toContain('new host key for a\n');
});

test('the list is erased during a question', async () => {
  const { context, stderr, screen } = terminal();
  const progress = createProgress(context, { hosts: ['a'], json: false });
  await vi.waitFor(() => expect(screen()).toContain('waiting'), { timeout: 120_000 });
  let during = '';
  await progress.aside(async () => {
    const before = screen();
    stderr.write('password? ');
    await vi.waitFor(() => expect(screen()).toContain('password? '), { timeout: 120_000 });
    during = screen().slice(before.length);
  });
  expect(during).toBe('password? ');
  await progress.finish();
});

test('after the terminal became narrower all wrapped lines are erased', async () => {
  const { context, stderr, screen } = terminal();
  const progress = createProgress(context, { hosts: ['a', 'b'], json: false });
  progress.sink({ kind: 'host-state', host: 'a', state: 'applying', text: 'x'.repeat(100) });
  await vi.waitFor(() => expect(screen()).toMatch(/x{40}.*\n.*\n.*\n/), { timeout: 120_000 });
  stderr.columns = 25;
  // A line of 60 columns is now three lines; the line of b and the line of counts are still one each.
  await vi.waitFor(() => expect(screen()).toContain('\u001b[5A'), { timeout: 120_000 });
  await progress.finish();
});

test('after the terminal became lower all visible lines are erased', async () => {
  const { context, stderr, screen } = terminal();
  const hosts = ['a', 'b', 'c', 'd', 'e', 'f'];
  const progress = createProgress(context, { hosts, json: false });
  await vi.waitFor(() => expect(screen()).toContain('6 waiting\n'), { timeout: 120_000 });
  const before = screen().length;
  stderr.rows = 4;
  await vi.waitFor(() => expect(screen().slice(before)).toMatch(/\n.* · .*\n/), { timeout: 120_000 });
  expect(screen().slice(before)).not.toContain('\u001b[7A');
  expect(screen().slice(before)).toContain('\u001b[3A');
  await progress.finish();
});

test('a note after the end is printed', async () => {
  const { context, screen } = terminal();
  const progress = createProgress(context, { hosts: ['a'], json: false });
  await progress.finish();
  const before = screen().length;
  progress.sink({ kind: 'note', text: 'the lock of a was not released' });
  expect(screen().slice(before)).toBe('the lock of a was not released\n');
});

test('a note after the last host is settled stays, also one that repeats on other hosts', async () => {
  const { context, screen } = terminal();
  const hosts = ['a', 'b', 'c'];
  const progress = createProgress(context, { hosts, json: false });
  for (const host of hosts) progress.sink({ kind: 'note', host, text: 'the clock is 3 min late' });
  for (const host of hosts) progress.sink({ kind: 'host-state', host, state: 'ok' });
  await vi.waitFor(() => expect(screen()).toContain('3 of 3 done'), { timeout: 120_000 });
  // The pools are still listed, and Azure DevOps limits requests.
  const before = screen().length;
  await vi.waitFor(() => expect(screen().length).toBeGreaterThan(before), { timeout: 120_000 });
  progress.sink({ kind: 'note', text: 'Azure DevOps limits requests' });
  await progress.finish();
  expect(leftOnScreen(screen())).toEqual([
    'a: the clock is 3 min late',
    'Azure DevOps limits requests',
    'b, c: the clock is 3 min late',
    '',
  ]);
});
