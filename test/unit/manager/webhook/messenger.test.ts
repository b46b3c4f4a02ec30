import { expect, test } from 'vitest';
import { defined } from '../../../../src/shared/base/objects.ts';
import { FleetError } from '../../../../src/shared/base/errors.ts';
import { Secret } from '../../../../src/shared/base/secret.ts';
import type { ManagerConfig } from '../../../../src/shared/contract/config.ts';
import type { Hold } from '../../../../src/manager/model.ts';
import type { Episode } from '../../../../src/manager/webhook/episodes.ts';
import { Messenger, pauseMs, type SlotReport } from '../../../../src/manager/webhook/messenger.ts';
import { StillClock } from '../../../support/clock.ts';
import { config } from '../../../support/manager-config.ts';

const hold: Hold = {
  kind: 'close',
  state: 'quarantined',
  cause: { code: 'gpu.lost', what: 'GPU: it is gone', next: 'reboot the host' },
};
const report = (name: string, changes: Partial<SlotReport> = {}): SlotReport => ({
  slot: { name, agent: `box-${name}`, pool: 'gpus', gpus: [] },
  hold: undefined,
  isUnavailable: false,
  cause: {},
  wait: undefined,
  ...changes,
});
const closed = (name: string) => report(name, { hold });

/** Returns a receiver that answers with these statuses in turn, the last forever, and starts messengers. */
function world(...statuses: readonly number[]) {
  const clock = new StillClock();
  const texts: string[] = [];
  const logged: string[] = [];
  const results: string[] = [];
  const kept: { told: readonly Episode[] } = { told: [] };
  let address: () => Promise<Secret> = async () => new Secret('https://hooks.lab.example/x');
  const start = (webhook: ManagerConfig['webhook'] | 'none' = { offlineS: 600, queueWaitS: 1800 }) =>
    new Messenger({
      clock,
      log: { log: (_, message) => void logged.push(message), redact: () => undefined },
      config: { ...config({}), host: 'box', ...(webhook === 'none' ? {} : defined({ webhook })) },
      signal: new AbortController().signal,
      fetch: async (_, { body = '' }) => {
        texts.push((JSON.parse(body) as { text: string }).text);
        const status = statuses[Math.min(texts.length, statuses.length) - 1] ?? 200;
        return new Response(null, { status });
      },
      address: () => address(),
      state: {
        get value() {
          return kept;
        },
        note: async (change) => void Object.assign(kept, change()),
      },
      metrics: { webhookAnswered: (result) => void results.push(result) },
    });
  /** Runs passes of the loop, five seconds apart. */
  const turns = async (messenger: Messenger, count: number): Promise<void> => {
    for (let turn = 0; turn < count; turn += 1) {
      await messenger.deliver();
      clock.pass(5000);
    }
  };
  return {
    clock,
    texts,
    logged,
    results,
    start,
    turns,
    breakAddress: () => {
      address = () => Promise.reject(new FleetError({ code: 'webhook.unusable', what: 'no address' }));
    },
  };
}

test('each begin and end is reported once, in at most one message a minute', async () => {
  const { start, turns, texts } = world(200);
  const messenger = start();
  messenger.observe([report('0'), report('1')]);
  await turns(messenger, 3);
  expect(texts).toEqual([]);
  messenger.observe([closed('0'), closed('1')]);
  await turns(messenger, 30);
  expect(texts).toEqual(['box: slots 0, 1 are closed: GPU: it is gone. Next: reboot the host']);
  for (let minute = 0; minute < 5; minute += 1) {
    messenger.observe([report('0'), report('1')]);
    await turns(messenger, 4);
    messenger.observe([closed('0'), closed('1')]);
    await turns(messenger, 8);
  }
  expect(texts.length).toBeLessThanOrEqual(6);
  messenger.observe([report('0'), report('1')]);
  await turns(messenger, 30);
  expect(texts.at(-1)).toContain('slots 0, 1 are open again');
});

test('a restarted manager repeats nothing, and reports the end of an episode', async () => {
  const { start, turns, texts } = world(200);
  const first = start();
  first.observe([closed('0')]);
  await turns(first, 1);
  const second = start();
  await turns(second, 20);
  second.observe([closed('0')]);
  await turns(second, 20);
  expect(texts).toHaveLength(1);
  const third = start();
  third.observe([report('0')]);
  await turns(third, 20);
  expect(texts[1]).toContain('slot 0 is open again');
});

test('a receiver that was unreachable gets one message with the current episodes', async () => {
  const { start, turns, texts, logged, results } = world(503, 503, 200);
  const messenger = start();
  messenger.observe([closed('0'), report('1')]);
  await turns(messenger, 1);
  messenger.observe([report('0'), closed('1')]);
  await turns(messenger, 40);
  expect(texts).toHaveLength(3);
  expect(texts[2]).toBe('box: slot 1 is closed: GPU: it is gone. Next: reboot the host');
  expect(results).toEqual(['failed', 'failed', 'taken']);
  expect(logged).toEqual(['the webhook did not accept a message']);
});

test('changes are dropped after a limited number of attempts', async () => {
  const { start, turns, texts, logged } = world(500);
  const messenger = start();
  messenger.observe([closed('0')]);
  await turns(messenger, 5000);
  expect(texts).toHaveLength(15);
  expect(logged).toEqual([
    'the webhook did not accept a message',
    'changes are not reported: the webhook does not accept them',
  ]);
  messenger.observe([report('0')]);
  await turns(messenger, 1);
  expect(texts).toHaveLength(16);
});

test('a refusal is not repeated', async () => {
  const { start, turns, texts } = world(404);
  const messenger = start();
  messenger.observe([closed('0')]);
  await turns(messenger, 1000);
  expect(texts).toHaveLength(1);
});

test('an address that cannot be read is a failure', async () => {
  const { start, turns, texts, results, breakAddress } = world(200);
  breakAddress();
  const messenger = start();
  messenger.observe([closed('0')]);
  await turns(messenger, 2);
  expect([texts, results]).toEqual([[], ['failed']]);
  await expect(messenger.test()).rejects.toMatchObject({ problem: { code: 'webhook.unusable' } });
});

test('the offline time of an agent is measured on the monotonic clock', async () => {
  const { start, turns, texts, clock } = world(200);
  const messenger = start();
  messenger.observe([report('0', { isUnavailable: true })]);
  clock.wallAhead += 86_400_000;
  messenger.observe([report('0', { isUnavailable: true })]);
  await turns(messenger, 2);
  expect(texts).toEqual([]);
  clock.pass(600_000);
  messenger.observe([report('0', { isUnavailable: true })]);
  await turns(messenger, 2);
  expect(texts).toEqual([expect.stringContaining('agent box-0 is offline')]);
});

test('without a webhook no message is sent', async () => {
  const { start, turns, texts } = world(200);
  const messenger = start('none');
  messenger.observe([closed('0')]);
  await turns(messenger, 3);
  expect(texts).toEqual([]);
});

test.each<[number, Parameters<typeof pauseMs>[1]['kind'], number | undefined, number]>([
  [1, 'later', undefined, 10_000],
  [2, 'later', undefined, 20_000],
  [7, 'later', undefined, 600_000],
  [14, 'later', undefined, 600_000],
  [1, 'later', 90_000, 90_000],
  [1, 'later', 1, 10_000],
  [1, 'later', 1e12, 3_600_000],
  [1, 'refused', undefined, 10_000],
])('failure %i, %s, requested pause %s ms: the pause is %i ms', (failures, kind, afterMs, expected) => {
  const problem = new FleetError({ code: 'webhook.unreachable', what: 'x' });
  expect(pauseMs(failures, kind === 'later' ? { kind, problem, afterMs } : { kind, problem })).toBe(expected);
});
