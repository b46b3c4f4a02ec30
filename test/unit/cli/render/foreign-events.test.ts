// Every kind of event with hostile text in each field, in each output.
import { PassThrough } from 'node:stream';

import { expect, test, vi } from 'vitest';

import type { FleetEvent } from '../../../../src/fleet/apply/events.ts';
import type { Context } from '../../../../src/shared/base/context.ts';
import { foreignValue } from '../../../../src/shared/base/foreign-text.ts';
import { columnsOf } from '../../../../src/shared/base/columns.ts';
import { createProgress } from '../../../../src/cli/render/progress.ts';
import { leftOnScreen } from '../../../support/screen.ts';
import { controls, evil, words } from '../../../support/hostile-words.ts';

const host = 'gpu-1';
/** Text of wide characters: ideographs, and emoji of several code points. */
const wide = `${'日本語'.repeat(60)}${'👩‍👩‍👧‍👦'.repeat(30)}`;

type Kinds = { readonly [kind in FleetEvent['kind']]: Extract<FleetEvent, { readonly kind: kind }> };
const events: Kinds = {
  phase: { kind: 'phase', phase: 'apply' },
  'host-state': { kind: 'host-state', host, state: 'proving', text: 'evil' },
  note: { kind: 'note', host, text: 'evil' },
  'change-start': { kind: 'change-start', host, id: 'evil', title: 'evil', since: 0 },
  'change-limit': { kind: 'change-limit', host, id: 'evil', since: 0 },
  'change-output': { kind: 'change-output', host, id: 'evil', line: 'evil' },
  'change-end': {
    kind: 'change-end',
    host,
    id: 'evil',
    title: 'evil',
    ok: true,
    durationMs: 1,
    resumed: true,
  },
  problem: {
    kind: 'problem',
    problem: {
      code: 'bug',
      host,
      step: 'evil',
      what: 'evil',
      expected: 'evil',
      seen: 'evil',
      next: 'evil',
      details: [{ code: 'bug', what: 'evil', seen: 'evil' }],
    },
  },
  verdict: { kind: 'verdict', host, verdict: { state: 'failed', cause: 'evil', next: 'evil' } },
};
/** Kinds that are never shown. */
const unseen: ReadonlySet<string> = new Set(['phase', 'verdict', 'change-limit']);

const withText = (event: FleetEvent, replacement: string): FleetEvent =>
  foreignValue(event, (text) => (text === 'evil' ? replacement : text));

function screen(isTTY: boolean) {
  const stderr = Object.assign(new PassThrough(), { isTTY, columns: 60, rows: 12 });
  let written = '';
  stderr.on('data', (chunk: Buffer) => (written += chunk.toString()));
  const logged: unknown[] = [];
  const context = {
    stderr,
    unfiltered: { stderr, stdout: stderr },
    env: {},
    clock: { monotonic: () => 1_000 },
    log: {
      log: (_: string, __: string, fields: unknown) => void logged.push(fields),
      redact: () => undefined,
    },
  } as unknown as Context;
  return {
    progress: createProgress(context, { hosts: [host], json: false }),
    written: () => written,
    logged,
  };
}

test.each(Object.entries(events))('%s on a terminal', async (kind, event) => {
  const { progress, written, logged } = screen(true);
  progress.sink({ kind: 'host-state', host, state: 'applying' });
  progress.sink(withText(event, evil));
  if (!unseen.has(kind) && kind !== 'change-end')
    await vi.waitFor(() => expect(written()).toMatch(words), { timeout: 120_000 });
  await progress.finish();
  expect(controls(written())).toEqual([]);
  expect(written()).not.toContain('HIDDEN');
  expect(controls(JSON.stringify(logged))).toEqual([]);
  expect(JSON.stringify(logged)).not.toMatch(/\\u00[01]|HIDDEN/);
});

test.each(Object.entries(events))('%s as a line', async (kind, event) => {
  const { progress, written } = screen(false);
  progress.sink(withText(event, evil));
  await progress.finish();
  expect(controls(written())).toEqual([]);
  expect(written()).not.toContain('HIDDEN');
  if (!unseen.has(kind) && kind !== 'change-output') expect(written()).toMatch(/gpu-1/);
});

test('wide characters do not make a row longer than the terminal', async () => {
  const { progress, written } = screen(true);
  progress.sink(withText(events['change-start'], wide));
  progress.sink(withText(events['change-output'], wide));
  await vi.waitFor(() => expect(written()).toContain('日本'), { timeout: 120_000 });
  const rows = leftOnScreen(written().replaceAll(/\u001b\[\?25[lh]/g, ''));
  await progress.finish();
  for (const row of rows) expect(columnsOf(row)).toBeLessThanOrEqual(60);
});
