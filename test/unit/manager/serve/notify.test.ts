import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemdNotifier } from '../../../../src/manager/serve/systemd.ts';
import { Labels } from '../../../../src/shared/contract/paths.ts';
import { ManagerRig, printed } from '../../../support/manager-rig.ts';

describe('calls of systemd-notify', () => {
  const calls: string[] = [];
  const notifier = (env: Record<string, string>) =>
    systemdNotifier(env, (program, args, _, variables = {}) => {
      const settings = Object.entries(variables).map(([name, value]) => `${name}=${value} `);
      calls.push(`${settings.join('')}${program} ${args.join(' ')}`);
      return Promise.resolve(printed(''));
    });
  beforeEach(() => void calls.splice(0));

  test('ready, alive, settled, stopping', async () => {
    const systemd = notifier({ NOTIFY_SOCKET: '/run/systemd/notify' });
    await systemd.ready('starting');
    await systemd.alive('2 slots: 1 busy, 1 idle');
    await systemd.settled();
    await systemd.stopping();
    const program = 'NOTIFY_SOCKET=/run/systemd/notify systemd-notify';
    expect(calls).toEqual([
      `${program} --ready --status=starting`,
      `${program} --status=2 slots: 1 busy, 1 idle WATCHDOG=1`,
      'systemctl reset-failed azp-fleet-manager.service',
      `${program} STOPPING=1`,
    ]);
  });

  test('none without a socket', async () => {
    await notifier({}).ready('starting');
    await notifier({}).settled();
    expect(calls).toEqual([]);
  });

  test.each([
    ['three notifications in the watchdog time', { WATCHDOG_USEC: '120000000' }, 40_000],
    ['no watchdog', {}, undefined],
  ])('%s', (_, env, intervalMs) => {
    expect(notifier(env).intervalMs).toBe(intervalMs);
  });
});

function isListOfAgents(url: string): boolean {
  const { pathname, searchParams } = new URL(url, 'http://docker');
  const filters = searchParams.get('filters') ?? '';
  return pathname.endsWith('/containers/json') && filters.includes(`${Labels.kind}=agent`);
}

describe('the watchdog', () => {
  let rig: ManagerRig;
  beforeEach(async () => {
    rig = await ManagerRig.create();
  });
  afterEach(() => rig.close());
  const alive = (): number => rig.notified.filter((what) => what === 'alive').length;

  test('is notified by passes that end, not by a hung loop', async () => {
    await rig.start();
    await rig.until('idle');
    const lists = (): number => rig.docker.calls.filter(({ url }) => isListOfAgents(url)).length;
    const listed = lists();
    rig.docker.stall = /GET \/containers\/json/;
    // A pass and the watch for other GPU processes list the agents, each one at a time: the second that hangs is a pass's.
    await expect.poll(lists).toBeGreaterThan(listed + 1);
    const before = alive();
    expect(before).toBeGreaterThan(0);
    for (let turn = 0; turn < 20; turn += 1) await rig.post('/v1/undrain', {});
    expect((await rig.status()).slots).toHaveLength(2);
    expect(alive()).toBe(before);
    rig.docker.stall = undefined;
    await rig.docker.stop();
    await rig.docker.start();
    await expect.poll(alive).toBeGreaterThan(before);
    await rig.stop();
    expect([rig.notified[0], rig.notified.at(-1)]).toEqual(['ready', 'stopping']);
  });
});
