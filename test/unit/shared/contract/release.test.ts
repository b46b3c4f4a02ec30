import { afterEach, describe, expect, test } from 'vitest';

import { createManagerClient, type ManagerClient } from '../../../../src/fleet/client/manager-client.ts';
import { ourRelease, protocol, releaseGap, releaseOf } from '../../../../src/shared/contract/release.ts';
import { managerBefore } from '../../../support/release-before.ts';

const closing: (() => void)[] = [];
afterEach(() => closing.splice(0).forEach((close) => close()));

async function heard(changes?: Parameters<typeof managerBefore>[0]) {
  const manager = await managerBefore(changes);
  closing.push(() => manager.close());
  return manager;
}

describe('releases more than one apart', () => {
  const cases: readonly [string, (manager: ManagerClient) => Promise<unknown>][] = [
    ['status', (manager) => manager.status()],
    ['drain', (manager) => manager.drain({ reason: 'fan' })],
    ['undrain', (manager) => manager.undrain({ slots: [] })],
    ['undrain of a run', (manager) => manager.undrainRun('run-1')],
    ['adopt', (manager) => manager.adopt(['0'])],
    ['image build', (manager) => manager.renewImage(true)],
    ['logs', (manager) => manager.logs('0', 200)],
    ['logs --runs', (manager) => manager.runs({ limit: 20 })],
    ['logs --diag', (manager) => manager.diagnostics('0', undefined)],
  ];

  test.each(cases)('%s: a newer manager is reported and gets no request', async (_, act) => {
    const { agent, asked } = await heard({
      version: '0.4.0',
      protocol: protocol + 2,
      slots: 'all new',
    });
    await expect(act(createManagerClient(agent, 'h1'))).rejects.toMatchObject({
      problem: {
        code: 'manager.release',
        host: 'h1',
        what: `the manager on h1 is 0.4.0, this azp-fleet is ${ourRelease.version}: they are more than one release apart`,
        next: 'update azp-fleet on this machine to 0.4.0',
      },
    });
    expect(asked).toEqual([{ method: 'GET', path: '/v1/status' }]);
  });

  test.each(cases)('%s: an older manager is reported and gets no request', async (_, act) => {
    const { agent, asked } = await heard();
    const ours = { version: '0.4.0', protocol: protocol + 2 };
    await expect(act(createManagerClient(agent, 'h1', { ours }))).rejects.toMatchObject({
      problem: {
        what: 'the manager on h1 is 0.2.0, this azp-fleet is 0.4.0: they are more than one release apart',
        next: 'run "azp-fleet provision h1"',
      },
    });
    expect(asked).toEqual([{ method: 'GET', path: '/v1/status' }]);
  });

  test('provision drains a manager of any release, because it upgrades it', async () => {
    const { agent, asked } = await heard();
    const ours = { version: '0.9.0', protocol: 9 };
    const manager = createManagerClient(agent, 'h1', { ours, anyRelease: true });
    await manager.status();
    await manager.drain({ reason: 'restart Docker' });
    await manager.undrainRun('run-1');
    expect(asked.filter(({ method }) => method === 'POST').map(({ path }) => path)).toEqual([
      '/v1/drain',
      '/v1/undrain',
    ]);
  });

  test.each([
    ['no status', { slots: [] }],
    ['no version', { version: 7 }],
    ['an invalid version', { version: 'rm -rf /', protocol: 9 }],
    ['an invalid number', { version: '0.4.0', protocol: 'nine' }],
    ['nothing', null],
  ])('no release: %s', (_, value) => {
    expect(releaseOf(value)).toBeUndefined();
  });

  test('one release apart is no gap, in either direction', () => {
    const at = (number: number) => ({ version: '1.0.0', protocol: number });
    for (const [manager, ours] of [
      [4, 5],
      [5, 5],
      [6, 5],
    ] as const)
      expect(releaseGap('h1', at(manager), at(ours))).toBeUndefined();
  });
});
