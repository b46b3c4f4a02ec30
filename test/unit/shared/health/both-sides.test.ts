import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';

import { compareSides, isDifference, type Side } from '../../../../src/shared/health/both-sides.ts';
import type { Answered } from '../../../../src/shared/base/reading.ts';

const gpu = (at: number, computeMode: string | undefined = 'Default') => ({ uuid: `GPU-${at}`, computeMode });
const pair: Side = { driverVersion: '580.95.05', gpus: [gpu(0), gpu(1)] };
const read = (value: Side): Answered<Side> => ({ kind: 'value', value });
const unread: Answered<Side> = { kind: 'unknown', why: 'no report of a manager' };
const shown = (host: Answered<Side>, container: Answered<Side>): readonly string[] =>
  compareSides(host, container).map(
    ({ severity, code, gpu: on, what }) => `${severity} ${code}${on === undefined ? '' : ` ${on}`}: ${what}`,
  );
const unknown = 'info container.not-compared: whether host and container see the same is unknown: ';

describe('host, container: findings', () => {
  test.each<[string, Answered<Side>, Answered<Side>, readonly string[]]>([
    ['equal', read(pair), read(pair), []],
    ['equal, in another order', read(pair), read({ ...pair, gpus: pair.gpus.toReversed() }), []],
    [
      'another driver',
      read(pair),
      read({ ...pair, driverVersion: '580.65.06' }),
      ['warn container.driver-differs: the host has driver 580.95.05, and containers get 580.65.06'],
    ],
    [
      'a GPU less',
      read(pair),
      read({ ...pair, gpus: [gpu(0)] }),
      [
        'warn container.gpus-differ: the host lists 2 GPUs, and a container with all GPUs 1; only on the host: GPU-1',
      ],
    ],
    [
      'another GPU, as with an old CDI specification',
      read(pair),
      read({ ...pair, gpus: [gpu(0), gpu(7)] }),
      [
        'warn container.gpus-differ: the host lists 2 GPUs, and a container with all GPUs 2; only on the host: GPU-1; only in the container: GPU-7',
      ],
    ],
    [
      'another compute mode',
      read(pair),
      read({ ...pair, gpus: [gpu(0), gpu(1, 'Exclusive_Process')] }),
      [
        'warn container.compute-mode-differs GPU-1: its compute mode is Default on the host, and Exclusive_Process in a container',
      ],
    ],
    ['the host was not read', unread, read(pair), [`${unknown}on the host: no report of a manager`]],
    [
      'the container was not read',
      read(pair),
      unread,
      [`${unknown}in the container: no report of a manager`],
    ],
    [
      'single values were not read',
      read({ gpus: [gpu(0), { uuid: '' }] }),
      read({ driverVersion: '', gpus: [{ uuid: 'GPU-0' }, gpu(1)] }),
      [
        `${unknown}driver version (not read on the host and in the container), UUIDs (not read on the host), compute mode of GPU-0 (not read in the container)`,
      ],
    ],
    [
      'one side has no driver version: the rest is compared',
      read({ gpus: [gpu(0)] }),
      read(pair),
      [
        'warn container.gpus-differ: the host lists 1 GPU, and a container with all GPUs 2; only in the container: GPU-1',
        `${unknown}driver version (not read on the host)`,
      ],
    ],
  ])('%s', (_, host, container, expected) => expect(shown(host, container)).toEqual(expected));
});

it('finds nothing only if every value was read on both sides and is the same', () => {
  const side = fc.record(
    {
      driverVersion: fc.constantFrom('', '580.95.05', '580.65.06'),
      gpus: fc.array(
        fc.record(
          {
            uuid: fc.constantFrom('', 'GPU-0', 'GPU-1'),
            computeMode: fc.constantFrom('Default', 'Prohibited'),
          },
          { requiredKeys: ['uuid'] },
        ),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: ['gpus'] },
  );
  const isRead = ({ driverVersion = '', gpus }: Side) =>
    driverVersion !== '' && gpus.every(({ uuid, computeMode }) => uuid !== '' && computeMode !== undefined);
  const key = ({ driverVersion, gpus }: Side) =>
    JSON.stringify([
      driverVersion,
      gpus.map((each) => JSON.stringify([each.uuid, each.computeMode])).toSorted(),
    ]);
  fc.assert(
    fc.property(side, side, (host, container) => {
      const isDistinct = [host, container].every(
        ({ gpus }) => new Set(gpus.map(({ uuid }) => uuid)).size === gpus.length,
      );
      fc.pre(isDistinct);
      const findings = compareSides(read(host), read(container));
      const isEqual = key(host) === key(container);
      expect(findings.length === 0).toBe(isEqual && isRead(host) && isRead(container));
      if (isEqual) expect(findings.filter(isDifference)).toEqual([]);
    }),
  );
});
