import { describe, expect, it } from 'vitest';

import { shareText } from '../../../../src/shared/base/quantities.ts';
import { waveLimits } from '../../../../src/cli/run/change-hosts.ts';
import { Options } from '../../../../src/cli/options.ts';
import type { Fleet } from '../../../../src/fleet/inventory/fleet.ts';
import { parseFleet } from '../../../../src/fleet/inventory/load.ts';
import type { WavesPlan } from '../../../../src/fleet/plan/fleet-plan.ts';

function fleet(waves: string): Fleet {
  const text = `organization: https://dev.azure.com/x
token: { env: T }
defaults: { pool: p }
hosts: { a: {} }
${waves}
`;
  return parseFleet(text, 'inventory.yaml', { env: {}, cwd: '/lab', home: '/home/me' });
}
const saved: WavesPlan = {
  maxUnavailable: '2',
  maxFailures: '1',
  proveFirst: [],
  waves: [],
  emptied: [],
  held: [],
};

describe('hosts at a time', () => {
  it.each<[string, Record<string, string>, string, WavesPlan | undefined, string]>([
    ['no setting', {}, '', undefined, '25% 0'],
    ['the inventory says it', {}, 'waves: { maxUnavailable: 10%, maxFailures: 3 }', undefined, '10% 3'],
    ['a saved plan keeps what it was made with', {}, 'waves: { maxUnavailable: 10% }', saved, '2 1'],
    ['what is typed goes first', { maxUnavailable: '100%', maxFailures: '5%' }, '', saved, '100% 5%'],
  ])('%s', (_, given, inventory, plan, expected) => {
    const { maxUnavailable, maxFailures } = waveLimits(new Options(given), fleet(inventory), plan);
    expect(`${shareText(maxUnavailable)} ${shareText(maxFailures)}`).toBe(expected);
  });

  it.each([
    ['maxUnavailable', '0', '--max-unavailable', 'from 1, or a percentage from 1% to 100%'],
    ['maxUnavailable', '0%', '--max-unavailable', 'from 1, or'],
    ['maxUnavailable', '101%', '--max-unavailable', 'to 100%'],
    ['maxFailures', 'some', '--max-failures', 'from 0, or a percentage from 0% to 100%'],
    ['maxFailures', '-1', '--max-failures', 'from 0'],
    ['maxFailures', '1.5', '--max-failures', 'a whole number'],
  ])('%s %s is refused', (name, text, flag, expected) => {
    const read = () => waveLimits(new Options({ [name]: text }), fleet(''));
    expect(read).toThrow(expect.objectContaining({ exitCode: 2 }));
    expect(read).toThrow(
      expect.objectContaining({
        problem: expect.objectContaining({
          what: expect.stringContaining(flag),
          expected: expect.stringContaining(expected),
          seen: text,
        }),
      }),
    );
  });
});
