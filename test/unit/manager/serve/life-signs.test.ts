import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LifeSigns, type PassEnd } from '../../../../src/manager/serve/systemd.ts';
import { StillClock } from '../../../support/clock.ts';
import { ManagerRig } from '../../../support/manager-rig.ts';
import { fault } from '../../../support/fault.ts';

type Step = readonly [seconds: number, end: PassEnd, gpusChecked: boolean];

/** Returns the notifications to systemd for these passes, by the second. */
async function notifications(steps: readonly Step[]): Promise<readonly string[]> {
  const clock = new StillClock();
  const sent: string[] = [];
  const send = (what: string) => () => {
    sent.push(`${clock.monotonic() / 1000} ${what}`);
    return Promise.resolve();
  };
  const notifier = {
    ready: send('ready'),
    alive: send('alive'),
    settled: send('settled'),
    stopping: send('stopping'),
  };
  const signs = new LifeSigns({ ...notifier, intervalMs: 40_000 }, clock);
  for (const [seconds, end, gpusChecked] of steps) {
    clock.pass(seconds * 1000 - clock.monotonic());
    await signs.after(end, gpusChecked, () => '2 slots');
  }
  return sent;
}

test.each<[string, readonly Step[], readonly string[]]>([
  ['the first successful pass', [[1, 'done', true]], ['1 ready', '1 alive']],
  ['a first pass with an external failure', [[1, 'external', true]], ['1 ready']],
  [
    'passes that fail',
    [
      [1, 'failed', true],
      [30, 'failed', true],
      [59, 'failed', true],
    ],
    [],
  ],
  [
    'a pass that failed once',
    [
      [1, 'failed', true],
      [11, 'done', true],
    ],
    ['11 ready', '11 alive'],
  ],
  [
    'GPUs that have not been checked yet',
    [
      [0, 'done', false],
      [2, 'done', true],
    ],
    ['2 ready', '2 alive'],
  ],
  [
    'an nvidia-smi that hangs',
    [
      [0, 'done', false],
      [10, 'done', false],
      [20, 'done', false],
    ],
    ['20 ready', '20 alive'],
  ],
  [
    'ten minutes of uptime',
    [
      [0, 'done', true],
      [30, 'done', true],
      [50, 'external', true],
      [599, 'external', true],
      [601, 'done', true],
      [1300, 'done', true],
    ],
    ['0 ready', '0 alive', '601 alive', '601 settled', '1300 alive'],
  ],
])('notifications for %s', async (_, steps, expected) => {
  expect(await notifications(steps)).toEqual(expected);
});

describe('a manager that starts', () => {
  let rig: ManagerRig;
  beforeEach(async () => {
    rig = await ManagerRig.create();
  });
  afterEach(() => rig.close());
  const first = () => rig.notified[0];

  test('is ready when it has listed the containers', async () => {
    rig.docker.stall = /GET \/containers\/json/;
    await rig.start();
    await expect.poll(() => rig.docker.calls.some(({ path }) => path === '/containers/json')).toBe(true);
    await rig.status();
    expect(rig.notified).toEqual([]);
    rig.docker.stall = undefined;
    await rig.docker.stop();
    await expect.poll(first).toBe('ready');
  });

  fault('down-at-start', 'is ready without Docker', async () => {
    await rig.docker.stop();
    await rig.start();
    await expect.poll(first).toBe('ready');
    expect((await rig.status()).problems.map(({ code }) => code)).toContain('engine.unreachable');
    await rig.docker.start();
  });

  fault('down-at-start', 'is ready without Azure DevOps', async () => {
    await rig.fake.close();
    await rig.start();
    await expect.poll(first).toBe('ready');
  });

  fault('first-pass-fails', 'is not ready while its passes fail', async () => {
    rig.host.listOwn = () => Promise.reject(new TypeError('our mistake'));
    await rig.start();
    const hasFailed = (): boolean =>
      rig.logged.some(({ message }) => message === 'a check of the slots failed');
    await expect.poll(hasFailed).toBe(true);
    expect(rig.notified).toEqual([]);
    expect((await rig.status()).problems[0]?.what).toBe('unexpected: our mistake');
  });

  test('is ready when its files on the host cannot be read', async () => {
    rig.host.listOwn = () =>
      Promise.reject(Object.assign(new Error('EIO: i/o error, scandir'), { errno: -5, code: 'EIO' }));
    await rig.start();
    await expect.poll(first).toBe('ready');
  });
});
