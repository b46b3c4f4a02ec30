import { afterEach, expect, test, vi } from 'vitest';
import { ConnectionWatch } from '../../../../src/manager/pool/connection.ts';
import type { TryConnect } from '../../../../src/shared/azure/http/proxy.ts';
import type { Clock } from '../../../../src/shared/base/clock.ts';
import { SimulatedClock } from '../../../support/clock.ts';

const organization = 'https://dev.azure.com/lab';

/** A network that a test cuts; `hangs`: packets are dropped, so that no attempt ends. */
class Network {
  state: 'up' | 'refuses' | 'hangs' | 'untrusted' = 'up';
  /** Start of each attempt. */
  readonly attempts: number[] = [];
  open = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readonly connect: TryConnect = async (_, signal) => {
    this.attempts.push(this.#clock.monotonic());
    if (this.state === 'refuses') throw new Error('connect ECONNREFUSED 192.0.2.1:443');
    if (this.state === 'untrusted')
      throw Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    if (this.state === 'up') return;
    this.open += 1;
    await new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => {
        this.open -= 1;
        reject(new Error('aborted'));
      });
    });
  };
}

afterEach(() => vi.restoreAllMocks());

interface Start {
  readonly clock?: SimulatedClock;
  readonly url?: string;
  readonly state?: Network['state'];
}

interface Watched {
  readonly clock: SimulatedClock;
  readonly network: Network;
  readonly watch: ConnectionWatch;
  readonly changes: { readonly at: number; readonly isBack: boolean }[];
  readonly stop: () => Promise<void>;
}

function watched({ clock = new SimulatedClock(), url = organization, state = 'up' }: Start = {}): Watched {
  const network = new Network(clock);
  network.state = state;
  const watch = new ConnectionWatch({ connect: network.connect, clock, organization: url });
  const changes: Watched['changes'] = [];
  const end = new AbortController();
  const running = watch.run(end.signal, (isBack) => changes.push({ at: clock.monotonic(), isBack }));
  const stop = (): Promise<void> => {
    end.abort();
    return running;
  };
  return { clock, network, watch, changes, stop };
}

test('nothing is known before the first test', () => {
  const { watch } = watched({ state: 'hangs' });
  expect(watch.status).toEqual({ to: 'dev.azure.com:443' });
  expect(watch.problem).toBeUndefined();
});

test('one failure is no problem, two in a row are, one success ends it', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const { clock, network, watch, changes, stop } = watched();
  await clock.pass(1_000);
  expect(watch.status).toEqual({ to: 'dev.azure.com:443', checkedAt: '2026-11-21T12:00:00.000Z' });
  network.state = 'refuses';
  await clock.pass(30_000);
  expect(watch.status).toMatchObject({
    checkedAt: '2026-11-21T12:00:30.000Z',
    why: expect.any(String) as string,
  });
  expect(watch.problem).toBeUndefined();
  network.state = 'up';
  await clock.pass(30_000);
  network.state = 'refuses';
  await clock.pass(60_000);
  expect(watch.status).toEqual({
    to: 'dev.azure.com:443',
    checkedAt: '2026-11-21T12:02:00.000Z',
    failingSince: '2026-11-21T12:01:30.000Z',
    why: 'connect ECONNREFUSED 192.0.2.1:443',
  });
  expect(watch.problem).toEqual({
    code: 'azure.no-connection',
    what: 'no connection to dev.azure.com:443 since 2026-11-21 12:01 UTC: connect ECONNREFUSED 192.0.2.1:443',
    next: 'check the network, "organization:", and "proxy:" (with "ca:") in the inventory',
  });
  network.state = 'up';
  await clock.pass(30_000);
  expect(watch.status).toEqual({ to: 'dev.azure.com:443', checkedAt: '2026-11-21T12:02:30.000Z' });
  expect(changes).toEqual([
    { at: 120_000, isBack: false },
    { at: 150_000, isBack: true },
  ]);
  await stop();
});

test.each(['refuses', 'hangs'] as const)(
  'a network that %s is noticed within 82 s, and its return within 36 s',
  async (state) => {
    for (let trial = 0; trial < 40; trial += 1) {
      const { clock, network, changes, stop } = watched();
      await clock.pass(Math.random() * 60_000);
      network.state = state;
      const cut = clock.monotonic();
      await clock.pass(120_000);
      network.state = 'up';
      const back = clock.monotonic();
      await clock.pass(60_000);
      expect(changes).toHaveLength(2);
      expect((changes[0]?.at ?? Infinity) - cut).toBeLessThanOrEqual(82_000);
      expect((changes[1]?.at ?? Infinity) - back).toBeLessThanOrEqual(36_000);
      await stop();
    }
  },
);

test('a test starts every 30 s ± 20 %, and a test without an answer ends after 10 s', async () => {
  const { clock, network, watch, stop } = watched({ state: 'hangs' });
  await clock.pass(9_999);
  expect(network.open).toBe(1);
  await clock.pass(1);
  expect(network.open).toBe(0);
  expect(watch.status.why).toBe('no answer in 10 s');
  await clock.pass(3_600_000);
  const pauses = network.attempts.slice(1).map((at, index) => at - (network.attempts[index] ?? 0));
  expect(Math.min(...pauses)).toBeGreaterThanOrEqual(24_000);
  expect(Math.max(...pauses)).toBeLessThanOrEqual(36_000);
  expect(Math.max(...pauses) - Math.min(...pauses)).toBeGreaterThan(4_000);
  await stop();
});

test('the speed of the practice clock changes nothing', async () => {
  const real = new SimulatedClock();
  const clock = Object.assign(new SimulatedClock(), {
    monotonic: real.monotonic,
    wall: real.wall,
    scaled: (ms: number) => ms / 50,
    wait: (ms: number, signal?: AbortSignal) => real.wait(ms / 50, signal),
  });
  const { network, stop } = watched({ clock });
  await real.pass(300_000);
  expect(network.attempts.length).toBeGreaterThanOrEqual(9);
  expect(network.attempts.length).toBeLessThanOrEqual(13);
  await stop();
});

test('a certificate that is not trusted has its own code and fix', async () => {
  const { clock, watch, stop } = watched({ state: 'untrusted' });
  await clock.pass(40_000);
  expect(watch.problem).toMatchObject({
    code: 'azure.certificate',
    next: 'name the PEM file of your site\'s certificate authority in the inventory: "ca: FILE"',
  });
  await stop();
});

test('the end of the manager ends a running test, and reports nothing', async () => {
  const { clock, network, watch, changes, stop } = watched({ state: 'hangs' });
  await clock.pass(5_000);
  await stop();
  expect(network.open).toBe(0);
  expect(watch.status).toEqual({ to: 'dev.azure.com:443' });
  expect(changes).toEqual([]);
});

test.each([
  ['http://127.0.0.1:8080/lab', '127.0.0.1:8080'],
  ['http://tfs.lab/tfs/lab', 'tfs.lab:80'],
  ['https://[2001:db8::1]/lab', '[2001:db8::1]:443'],
])('%s is tested at %s', (url, to) => {
  expect(watched({ url }).watch.status.to).toBe(to);
});
