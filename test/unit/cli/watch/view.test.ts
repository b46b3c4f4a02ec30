// The screen of `status --watch`: its lines at each size, from states alone.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { keysOf, pressed } from '../../../../src/cli/watch/keys.ts';
import { widthOf } from '../../../../src/cli/render/lines.ts';
import { emptyState, reported, type Report, type WatchState } from '../../../../src/cli/watch/state.ts';
import { watchLines } from '../../../../src/cli/watch/view.ts';
import { busy, hot, answer, lost, size, start } from './fleet.ts';

const fleetOf = (names: readonly string[], ...reports: readonly Report[]): WatchState =>
  reports.reduce(reported, emptyState(names));

const queues = {
  kind: 'pools' as const,
  queues: [{ pool: 'gpu-lab', jobs: { waiting: 3, running: 2, oldestWaitS: 740 } }],
  problems: [],
  jobs: undefined,
  at: start,
} satisfies Report;
const four = fleetOf(
  ['h200-1', 'h200-2', 'l40s-1', 'rtx-box'],
  queues,
  answer('h200-1'),
  answer('h200-2'),
  answer('l40s-1', { at: start - 20_000 }),
  answer('h200-1', { slots: [busy('0', 'train resnet50'), busy('1', 'lint')] }),
  answer('h200-2', { health: hot }),
  lost('l40s-1', start),
);

const press = (state: WatchState, typed: string, at = size(80, 24)): WatchState =>
  keysOf(typed).reduce((before, key) => pressed(before, key, at) as WatchState, state);

test('80 × 24, as docs/status.md shows it', () => {
  const page = readFileSync(join(import.meta.dirname, '../../../../docs/status.md'), 'utf8');
  expect(page).toContain(`\n${watchLines(four, size(80, 24)).join('\n')}\n`);
  expect(`\n${watchLines(four, size(80, 24)).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    3 hosts: 1 failed, 1 unreachable, 1 healthy; 1 host not read yet    10:00:00 UTC
    4 agents: 4 ready, 2 busy, unknown on 1 host · queue of pool gpu-lab: 3 jobs wa…
      host     gpus  agents  busy  azure  verdict            cause, or jobs
    FAILED (1)
    › h200-2   2     2/2     0     2/2    failed             GPU GPU-1: the GPU has…
    UNREACHABLE (1)
      l40s-1   2     2/2     0     2/2    unreachable 09:59  last answer 20 s ago; …
    HEALTHY (1)
      h200-1   2     2/2     2     2/2    healthy            train resnet50, lint
    NOT READ YET (1)
      rtx-box  -     -       -     -      -                  connecting …








    ── last changes (UTC) ──────────────────────────────────────────────────────────
    10:00:00  h200-1/1: job started: lint
    10:00:00  h200-2: failed (was healthy): GPU GPU-1: the GPU has fallen off the b…
    10:00:00  l40s-1: unreachable: 192.0.2.1:22 does not answer
    q quit · / filter · Enter host · ↑ ↓ PgUp PgDn scroll
    "
  `);
});

test('one host that is lost, with its last answer', () => {
  const open = press(four, '/l40s\r\r');
  expect(`\n${watchLines(open, size(80, 24, start + 60_000)).join('\n')}\n`).toMatchInlineSnapshot(`
    "
    3 hosts: 1 failed, 1 unreachable, 1 healthy; 1 host not read yet    10:01:00 UTC
    4 agents: 4 ready, 2 busy, unknown on 1 host · queue of pool gpu-lab: 3 jobs wa…
    l40s-1: unreachable since 09:59:40 UTC, for 1 min 20 s: 192.0.2.1:22 does not
      answer
      next    check the network

    below: what was last seen, which is old
    l40s-1: healthy (GPU check 12 s old)
    slot  gpu   °C  memory (GiB)  utilization  state  since (UTC)  job, or why none
    0     H200  40  1/140         50 %         idle   09:50
    1     H200  41  1/140         80 %         idle   09:50
    software  Debian 12, driver 580.95.05, Docker 29.7.2, toolkit 1.20.0, manager
              0.2.0
    image     azp-fleet/agent:1, digest unknown (not reported), ready
    disk      186 GiB free on /
    pool      gpu-lab: 2/2 agents online; 3 jobs waiting up to 12 min; 2 running
    drains    none


    ── last changes (UTC) ──────────────────────────────────────────────────────────
    10:00:00  h200-1/1: job started: lint
    10:00:00  h200-2: failed (was healthy): GPU GPU-1: the GPU has fallen off the b…
    10:00:00  l40s-1: unreachable: 192.0.2.1:22 does not answer
    Esc back · ↑ ↓ PgUp PgDn scroll · q quit
    "
  `);
});

const hundreds = Array.from({ length: 300 }, (_, n) => `gpu-${String(n).padStart(3, '0')}`);
const large = fleetOf(
  hundreds,
  queues,
  ...hundreds.map((name, n) =>
    n % 50 === 3 ? lost(name, start) : answer(name, n % 40 === 7 ? { health: hot } : {}),
  ),
);
const states: readonly (readonly [string, WatchState])[] = [
  ['nothing read yet', emptyState(hundreds)],
  ['4 hosts', four],
  ['300 hosts', large],
  ['scrolled to the end', press(large, '\u001b[F')],
  ['typing a filter', press(large, '/gpu-1')],
  ['nothing matches', press(large, '/nothing')],
  ['one host', press(large, '\r')],
  ['wide and hostile texts', reported(large, { kind: 'note', text: '漢字'.repeat(200), at: start })],
];
const sizes = [
  [80, 24],
  [200, 60],
  [40, 12],
  [20, 6],
  [5, 2],
] as const;

describe.each(states)('%s', (_, state) => {
  test.each(sizes)('%i × %i: one line a row, none too wide', (width, height) => {
    const lines = watchLines(state, size(width, height));
    expect(lines.length).toBe(height);
    expect(lines.filter((line) => widthOf(line) > width)).toEqual([]);
  });
});

test('300 hosts: failed and unreachable ones first, then the others, each group with its number', () => {
  const titles = watchLines(large, size(200, 400)).filter((line) => /^[A-Z ]+ \(\d+\)$/.test(line));
  expect(titles).toEqual(['FAILED (8)', 'UNREACHABLE (6)', 'HEALTHY (286)']);
});

test('the selected host is visible wherever it is', () => {
  for (const typed of ['', '\u001b[B'.repeat(17), '\u001b[6~'.repeat(5), '\u001b[F']) {
    const lines = watchLines(press(large, typed), size(80, 24));
    expect(lines.filter((line) => line.startsWith('›'))).toHaveLength(1);
  }
});

test('an answer that is late is old before it fails; other hosts are not', () => {
  const later = reported(large, answer('gpu-001', { at: start + 50_000 }));
  const lines = watchLines(press(later, '/gpu-00'), size(120, 30, start + 52_000));
  expect(lines.find((line) => line.includes('gpu-000'))).toMatch(/healthy \(old\) +last answer 52 s ago/);
  expect(lines.find((line) => line.includes('gpu-001'))).not.toContain('old');
});

test('a pool that cannot be read stands on top', () => {
  const problems = [{ code: 'azure.unreachable', what: 'dev.azure.com does not answer' }] as const;
  const state = reported(four, { ...queues, problems });
  expect(watchLines(state, size(80, 24))[2]).toBe('✗ dev.azure.com does not answer');
});
