import { describe, expect, test } from 'vitest';

import { refillGaps } from '../../../bench/soak/figures.ts';
import { copiedKey, deedsDone, hostileJob, isHostile, publishes } from '../../../bench/soak/hostile.ts';
import { violations } from '../../../bench/soak/invariants.ts';
import type { ContainerEvent, RunRecord, FaultRecord } from '../../../bench/soak/model.ts';
import { containerEvent } from '../../../bench/soak/observe.ts';
import type { FakeJob } from '../../../practice/azure/control/control.ts';

const at = (second: number): string => new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString();
const ms = (second: number): number => Date.parse(at(second));
const id = (digit: string): string => digit.repeat(64);

/** A job that `agent` ran from one second to another. */
function job(name: string, agent: string, from: number, to: number, more: Partial<FakeJob> = {}): FakeJob {
  const container = id(((Number(name.slice(1)) % 9) + 1).toString());
  return {
    id: 1,
    name,
    pool: 'p',
    state: 'done',
    result: 'succeeded',
    queuedAt: at(0),
    finishedAt: at(to),
    runs: [{ agent, session: '', container: agent, at: at(from) }],
    steps: [],
    log: `container ${container}\ngpu 0\n`,
    ...more,
  };
}

const fault = (more: Partial<FaultRecord> = {}): FaultRecord => ({
  name: 'reboot',
  hosts: ['a'],
  cutsJobs: true,
  from: ms(10),
  over: ms(20),
  recovered: ms(25),
  boundMs: 10_000,
  ...more,
});

const events = (...lines: readonly string[]): ContainerEvent[] =>
  lines.map((line) => {
    const [kind = '', container = ''] = line.split(' ');
    return { host: 'a', slot: '0', kind: kind as ContainerEvent['kind'], id: container };
  });

const record = (more: Partial<RunRecord>): RunRecord => ({
  jobs: [],
  faults: [],
  events: [],
  hostOf: new Map([
    ['a-0', 'a'],
    ['b-0', 'b'],
  ]),
  quarantines: [],
  sessionConflicts: 0,
  leftOver: [],
  tokens: [],
  loot: [],
  crashes: [],
  memoryMiB: new Map(),
  attacks: new Map(),
  ...more,
});

/** With its last words. */
const lost = (agent: string, second: number, result: string): string =>
  `j1 on ${agent} was lost, given at ${at(second)}: ${result} | container ${id('2')} | gpu 0`;
const run = (agent: string, second: number) => ({ agent, session: '', container: '', at: at(second) });

describe('what a soak lets pass and what it does not', () => {
  test.each<[string, Partial<RunRecord>, readonly string[]]>([
    ['jobs done once each', { jobs: [job('j1', 'a-0', 1, 2), job('j2', 'a-0', 3, 4)] }, []],
    [
      'a job that ran twice',
      { jobs: [job('j1', 'a-0', 1, 2, { runs: [run('a-0', 1), run('b-0', 2)] })] },
      ['j1 ran 2 times'],
    ],
    [
      'a job that failed without running',
      { jobs: [job('j1', 'a-0', 1, 2, { runs: [], result: 'failed', message: 'nobody' })] },
      ['j1 ended as failed without running: nobody'],
    ],
    [
      'a job given up during a reboot of its host',
      { jobs: [job('j1', 'a-0', 9, 60, { result: 'abandoned' })], faults: [fault()] },
      [],
    ],
    [
      'a job lost on another host than the rebooted one',
      { jobs: [job('j1', 'b-0', 9, 60, { result: 'abandoned' })], faults: [fault()] },
      [lost('b-0', 9, 'abandoned')],
    ],
    [
      'a job lost before the reboot',
      { jobs: [job('j1', 'a-0', 1, 9, { result: 'canceled' })], faults: [fault()] },
      [lost('a-0', 1, 'canceled')],
    ],
    [
      'a job lost to a drain, which may cut none',
      { jobs: [job('j1', 'a-0', 9, 12, { result: 'canceled' })], faults: [fault({ cutsJobs: false })] },
      [lost('a-0', 9, 'canceled')],
    ],
    [
      'two jobs at once on one name',
      { jobs: [job('j1', 'a-0', 1, 5), job('j2', 'a-0', 4, 6)] },
      ['j1 and j2 ran on a-0 at the same time'],
    ],
    [
      'two jobs in one container',
      { jobs: [job('j1', 'a-0', 1, 2), job('j10', 'b-0', 3, 4)] },
      ['j1 and j10 ran in the same container'],
    ],
    [
      'a job that began on a GPU of another process',
      {
        jobs: [job('j1', 'a-0', 30, 31, { log: `container ${id('1')}\ngpu 15974\n` })],
        faults: [fault({ takenAt: ms(12) })],
      },
      ['j1 on a-0 began on a GPU with 15974 MiB in use'],
    ],
    [
      'one that began before the manager could see it',
      {
        jobs: [job('j1', 'a-0', 11, 13, { log: `container ${id('1')}\ngpu 15974\n` })],
        faults: [fault({ takenAt: ms(12) })],
      },
      [],
    ],
    [
      'one that does not say how its GPU was',
      { jobs: [job('j1', 'a-0', 1, 2, { log: `container ${id('1')}\ngpu \n` })] },
      ['j1 does not say how its GPU was'],
    ],
    ['containers one after the other', { events: events('present 1', 'die 1', 'start 2', 'present 2') }, []],
    [
      'containers whose end the engine slept through',
      { events: events('start 1', 'again', 'present 2', 'die 2') },
      [],
    ],
    [
      'two containers of a slot at once',
      { events: events('start 1', 'start 2', 'die 1') },
      ['a slot 0 has 2 live containers'],
    ],
    [
      'slots that came back late',
      { faults: [fault({ boundMs: 4000 })] },
      ['after reboot the slots needed 5000 ms, not 4000 ms'],
    ],
    [
      'what was seen on the hosts',
      { quarantines: ['q'], leftOver: ['c'], tokens: ['t'], loot: ['j: a login'] },
      ['false quarantine: q', 'left over: c', 'token found: t', 'a copied key worked: j: a login'],
    ],
    [
      'managers that bear attacks',
      { memoryMiB: new Map([['a', 120]]), attacks: new Map([['half-sent requests', 1]]) },
      [],
    ],
    [
      'managers that do not, and an attack that did not happen',
      {
        crashes: ['a: RangeError'],
        memoryMiB: new Map([['a', 200]]),
        attacks: new Map([['half-sent requests', 0]]),
      },
      [
        'a manager crashed: a: RangeError',
        'the manager of a used 200 MiB, not 192 MiB',
        'no attack: half-sent requests',
      ],
    ],
    [
      'jobs in host mode, which have no container',
      {
        jobs: [
          job('j1', 'a-0', 1, 2, { pool: 'bare', log: 'container \ngpu 0\n' }),
          job('j2', 'a-0', 3, 4, { pool: 'bare', log: 'container \ngpu 0\n', result: 'failed' }),
        ],
        hostPool: 'bare',
      },
      [`j2 on a-0 was lost, given at ${at(3)}: failed | container  | gpu 0`],
    ],
    [
      'a hostile job that fails by its attack',
      { jobs: [job('j1', 'a-0', 1, 2, { name: 'hostile: soak-10 forks to its limit', result: 'failed' })] },
      [],
    ],
    [
      'a hostile job that does not report where it ran',
      { jobs: [job('j1', 'a-0', 1, 2, { name: 'hostile: soak-20 x', log: '' })] },
      [],
    ],
    [
      'a hostile job that runs twice',
      {
        jobs: [job('j1', 'a-0', 1, 2, { name: 'hostile: soak-10 x', runs: [run('a-0', 1), run('b-0', 2)] })],
      },
      ['hostile: soak-10 x ran 2 times'],
    ],
  ])('%s', (_name, given, expected) => {
    expect(violations(record(given))).toEqual(expected);
  });
});

describe('jobs that mean harm', () => {
  test('are every tenth, each deed in its turn', () => {
    const numbers = Array.from({ length: 140 }, (_, index) => index + 1);
    const hostile = numbers.flatMap((number) => hostileJob(number) ?? []);
    expect(hostile.map(({ name }) => Number(/\d+/u.exec(name)?.[0]))).toEqual(
      numbers.filter((number) => number % 10 === 0),
    );
    const done = deedsDone(hostile.map(({ name }) => job('j1', 'a-0', 1, 2, { name })));
    expect([...done.values()]).toEqual([2, 2, 2, 2, 2, 2, 2]);
    expect(hostile.every(isHostile)).toBe(true);
    expect(hostile.filter(publishes)).toHaveLength(2);
  });

  test('a key is known by its three files in the log', () => {
    const file = (name: string) => `copied ${name} ${Buffer.from(`{"${name}":1}`).toString('base64')}\n`;
    const two = file('.agent') + file('.credentials');
    expect(copiedKey({ log: two })).toBeUndefined();
    const key = copiedKey({ log: `container x\n${two}${file('.credentials_rsaparams')}` });
    expect(String(key?.get('.credentials'))).toBe('{".credentials":1}');
  });
});

test('refill gaps are those that no fault touched', () => {
  const jobs = [
    job('j1', 'a-0', 1, 2),
    job('j2', 'a-0', 4, 5),
    job('j3', 'a-0', 26, 27),
    job('j4', 'a-0', 28, 29),
  ];
  expect(refillGaps(record({ jobs, faults: [fault()] }))).toEqual({
    count: 2,
    p50: 1000,
    p95: 2000,
    max: 2000,
  });
});

test('lines of the engine become events, others nothing', () => {
  expect(containerEvent('a', `start ${id('1')} 3`)).toEqual({
    host: 'a',
    kind: 'start',
    id: id('1'),
    slot: '3',
  });
  expect(containerEvent('a', 'again')?.kind).toBe('again');
  expect(containerEvent('a', 'Error response from daemon')).toBeUndefined();
});
