// What `status --watch` makes of two answers of a host: its events, and what it keeps of a host that is gone.
import { expect, test } from 'vitest';

import { emptyState, type Report, reported, type WatchState } from '../../../../src/cli/watch/state.ts';
import { slot } from '../../fleet/status/observation.ts';
import { busy, hot, answer, lost, start } from './fleet.ts';

const after = (...reports: readonly Report[]): WatchState => reports.reduce(reported, emptyState(['a', 'b']));
const texts = (...reports: readonly Report[]) => after(...reports).events.map(({ text }) => text);
const at = start + 10_000;

test.each<readonly [string, Report, Report, readonly string[]]>([
  ['nothing', answer('a'), answer('a', { at }), []],
  [
    'a job starts',
    answer('a'),
    answer('a', { slots: [slot('0'), busy('1', 'train resnet50')], at }),
    ['a/1: job started: train resnet50'],
  ],
  [
    'a job ends',
    answer('a', { slots: [busy('0', 'train resnet50'), slot('1')] }),
    answer('a', { at }),
    ['a/0: job ended after 30 min: train resnet50'],
  ],
  [
    'a job ends and the next one of the same name starts',
    answer('a', { slots: [busy('0', 'lint')] }),
    answer('a', { slots: [busy('0', 'lint', { jobSince: '2026-11-20T09:59:00Z' })], at }),
    ['a/0: job ended after 30 min: lint', 'a/0: job started: lint'],
  ],
  [
    'a job gets its name',
    answer('a', { slots: [slot('0', { state: 'busy', since: '2026-11-20T09:29:00Z' })] }),
    answer('a', { slots: [busy('0', 'lint')], at }),
    [],
  ],
  [
    'the verdict gets worse',
    answer('a'),
    answer('a', { health: hot, at }),
    ['a: failed (was healthy): GPU GPU-1: the GPU has fallen off the bus'],
  ],
  ['the verdict gets better', answer('a', { health: hot }), answer('a', { at }), ['a: healthy (was failed)']],
  ['the host is lost', answer('a'), lost('a', at), ['a: unreachable: 192.0.2.1:22 does not answer']],
  ['the host stays lost', lost('b', start), lost('b', at), ['b: unreachable: 192.0.2.1:22 does not answer']],
  [
    'another failure of the same host',
    lost('b', start),
    lost('b', at, { code: 'ssh.auth', what: 'login refused', next: '' }),
    ['b: unreachable: 192.0.2.1:22 does not answer', 'b: unreachable: login refused'],
  ],
  [
    'a host that never answered does',
    lost('b', start),
    answer('b', { at }),
    ['b: unreachable: 192.0.2.1:22 does not answer', 'b: answers again after 10 s'],
  ],
])('%s', (_, before, later, events) => {
  expect(texts(before, later)).toEqual(events);
});

test('a pool that is read for the first time is no change of the host', () => {
  const before = answer('a');
  if (before.kind !== 'answer') throw new Error('not an answer');
  const { azure: _, ...row } = before.answer.row;
  const unread: Report = {
    ...before,
    answer: { ...before.answer, row: { ...row, verdict: { state: 'unknown', cause: 'x', next: '' } } },
  };
  expect(texts(unread, answer('a', { at }))).toEqual([]);
});

test('a lost host keeps its last answer, is lost since that answer, and comes back', () => {
  const gone = after(answer('a'), lost('a', at), lost('a', at + 60_000));
  expect(gone.hosts.get('a')).toMatchObject({
    answer: { row: { verdict: { state: 'healthy' } } },
    lost: { since: start, row: { verdict: { state: 'unreachable' } } },
  });
  const back = reported(gone, answer('a', { at: start + 90_000 }));
  expect(back.hosts.get('a')?.lost).toBeUndefined();
  expect(back.events.at(-1)?.text).toBe('a: answers again after 1 min 30 s');
});

test('trouble of one host changes no other', () => {
  const before = after(answer('a'), answer('b'));
  expect(reported(before, lost('a', at)).hosts.get('b')).toBe(before.hosts.get('b'));
});

test('a problem of a pool is an event once; the last 200 events are kept', () => {
  const pools = (what: string): Report => ({
    kind: 'pools',
    queues: [],
    problems: [{ code: 'azure.unreachable', what }],
    jobs: undefined,
    at,
  });
  expect(texts(pools('no answer'), pools('no answer'))).toEqual(['Azure DevOps: no answer']);
  const notes = Array.from({ length: 300 }, (_, n): Report => ({ kind: 'note', text: `note ${n}`, at }));
  expect(texts(...notes)).toHaveLength(200);
  expect(texts(...notes).at(-1)).toBe('note 299');
});
