import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { figure, type Floors, isMet, readFloors, regressions, type Row } from '../../../bench/floor.ts';
import { type Measured, speedChart, speedPage } from '../../../bench/page.ts';
import { speedDocs } from '../../../bench/results.ts';

const faster: Row = { title: 'beside Ansible', unit: '×', better: 'more', goal: 30 };
const small: Row = { title: 'memory', unit: 'MB', better: 'less', goal: 250 };
const missed: Row = { ...faster, floor: 20, tried: ['two processes: 1 % faster'] };
const floors = (row: Row): Floors => ({ tolerance: 0.15, rows: { 'hosts.a': row } });

test.each<[string, Row, readonly number[], boolean]>([
  ['the goal is reached', faster, [30], true],
  ['within the tolerance', faster, [25.5], true],
  ['below it', faster, [25.4], false],
  ['the median counts', faster, [1, 40, 40], true],
  ['less is better, within the tolerance', small, [287.5], true],
  ['less is better, above it', small, [288], false],
  ['where the goal is missed, the last value counts', missed, [17], true],
  ['and one that is worse than it is a regression', missed, [16.9], false],
  ['no value', faster, [], false],
  ['no goal', { title: 'exec', unit: '×', better: 'more' }, [0.1], true],
])('a row and its floor: %s', (_, row, values, isGood) => {
  expect(regressions(floors(row), { 'hosts.a': values })).toHaveLength(isGood ? 0 : 1);
});

test('a regression is one line with row, floor, value and the next action', () => {
  expect(regressions(floors(missed), { 'hosts.a': [10] })).toEqual([
    'hosts.a (beside Ansible): floor ≥ 20.0×, seen 10.0×. Next: find the commit with `git bisect run npm run bench -- hosts --check`, or loosen the floor in bench/floor.json in a commit that says why.',
  ]);
  expect(regressions(floors(faster), { 'hosts.new': [1] })).toEqual([
    'hosts.new: no row. Next: add it to bench/floor.json.',
  ]);
});

test('a goal is met without a tolerance; without a goal or a value it is open', () => {
  expect([isMet(faster, [30]), isMet(faster, [29.9]), isMet(small, [250]), isMet(faster, [])]).toEqual([
    true,
    false,
    true,
    undefined,
  ]);
});

test.each([
  [123.4, 'ms', '123 ms'],
  [12.34, '×', '12.3×'],
  [0.6321, 's', '0.63 s'],
  [0, 'packages', '0.00 packages'],
])('%d %s is written %s', (value, unit, text) => {
  expect(figure(value, unit)).toBe(text);
});

const measured: Measured = {
  hosts: {
    on: '2026-11-22',
    machine: '2 cores',
    beside: 'ansible-core 2.14',
    rows: { 'hosts.a': [19, 21, 20] },
  },
};

test('the page shows ratios first, with spread, goal, and what was tried where one is missed', () => {
  const all: Floors = { tolerance: 0.15, rows: { 'hosts.b': small, 'hosts.a': missed } };
  const page = speedPage(all, measured);
  expect(page).toContain(
    '| beside Ansible | 20.0× | 19.0× to 21.0× | ≥ 30.0× | missed |\n| memory | not measured |  | ≤ 250 MB |  |',
  );
  expect(page).toContain('- beside Ansible\n  - two processes: 1 % faster\n');
  expect(page).toContain('| hosts | 2026-11-22 | 2 cores | ansible-core 2.14 |');
});

test('the chart has a bar for each measured ratio, and the page shows it only then', () => {
  expect(speedChart(floors(faster), measured)).toContain('beside Ansible</text>');
  expect(speedChart(floors(faster), measured).match(/<rect /g)).toHaveLength(1);
  expect(speedChart(floors(faster), {})).not.toContain('<rect ');
  expect(speedPage(floors(faster), measured)).toContain('(speed.svg)');
  expect(speedPage(floors(faster), {})).not.toContain('(speed.svg)');
});

test('every row of the file has a title, a unit and a direction; a floor is there only where a goal is missed', () => {
  for (const [id, row] of Object.entries(readFloors().rows)) {
    expect(id).toMatch(
      /^(?:start|ssh|growth|provision|status-screen|hosts|links|manager|listener|whole)\.[a-z0-9-]+$/i,
    );
    expect(['more', 'less']).toContain(row.better);
    const { floor, goal } = row;
    if (floor !== undefined && goal !== undefined) expect(isMet(row, [floor]), id).toBe(false);
  }
});

test('the page and the chart in docs show what was measured last', () => {
  for (const [name, text] of Object.entries(speedDocs()))
    expect(readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8'), name).toBe(text);
});
