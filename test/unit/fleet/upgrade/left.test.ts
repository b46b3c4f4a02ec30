// What is different from the inventory after an upgrade that did not succeed, and the way back.
import { expect, test } from 'vitest';

import type { HostOutcome } from '../../../../src/fleet/apply/outcome.ts';
import { leftBehind } from '../../../../src/fleet/upgrade/left.ts';
import type { PartName } from '../../../../src/fleet/upgrade/parts.ts';

const again = 'azp-fleet upgrade PART --to X';
const earlier: Readonly<Partial<Record<PartName, string>>> = {
  driver: '570.133.20',
  docker: '28.5.2+dfsg1',
  agent: '4.275.0',
  manager: '0.1.9',
};
const problem = { code: 'change.failed', what: 'no space left' } as const;
const done = (host: string): HostOutcome => ({ host, state: 'changed', changes: 2 });
const failed = (host: string): HostOutcome => ({ host, state: 'failed', changes: 0, problem });

const left = (part: PartName, outcomes: readonly HostOutcome[]) =>
  leftBehind({
    parts: [part],
    to: '9',
    was: new Map(outcomes.map(({ host }) => [host, earlier])),
    outcomes,
    again,
  }).map(({ host, what, next }) => [host, what, next]);

test.each<[PartName, string, string | undefined]>([
  ['driver', 'may have a part of driver 9, and had driver 570.133.20; nothing was undone', '570'],
  ['docker', 'may have a part of docker 9, and had docker 28.5.2+dfsg1; nothing was undone', '28.5.2'],
  ['agent', 'is configured for agent 9, and had agent 4.275.0; its agents keep the earlier image', '4.275.0'],
  ['manager', 'the earlier manager runs again', undefined],
])('a failed %s', (part, what, back) => {
  const way =
    back === undefined ? '' : `; to go back (docs/upgrade.md): azp-fleet upgrade ${part} a --to ${back}`;
  expect(left(part, [failed('a')])).toEqual([['a', what, `fix the cause; to continue: ${again}${way}`]]);
});

test('hosts with the same way back are one problem; hosts that were not begun are none', () => {
  const outcomes: readonly HostOutcome[] = [
    done('gpu1'),
    done('gpu2'),
    done('gpu3'),
    { ...failed('gpu4'), untouched: true },
    { host: 'gpu5', state: 'skipped', changes: 0 },
    { host: 'gpu6', state: 'ok', changes: 0 },
    { host: 'gpu7', state: 'unreachable', changes: 0, problem },
  ];
  expect(left('driver', outcomes)).toEqual([
    [
      'gpu[1-3]',
      'has driver 9, and had driver 570.133.20; the inventory has its earlier text',
      `to continue: ${again}; to go back (docs/upgrade.md): azp-fleet upgrade driver gpu1 gpu2 gpu3 --to 570`,
    ],
  ]);
});

test('a host that lost its connection during a change, or that does not work afterwards, has no success', () => {
  const lost: HostOutcome = { host: 'a', state: 'unreachable', changes: 1, problem };
  const broken: HostOutcome = { ...done('b'), verdict: { state: 'failed', cause: 'no GPU', next: '' } };
  const cut: HostOutcome = {
    host: 'c',
    state: 'skipped',
    changes: 0,
    interrupted: { during: 'change', title: 'install', continues: true },
  };
  expect(left('driver', [lost, broken, cut]).map(([host, what]) => [host, what?.slice(0, 8)])).toEqual([
    ['a, b, c', 'may have'],
  ]);
});
