import { describe, expect, it } from 'vitest';

import type { Change, Refusal } from '../../../../src/fleet/steps/change.ts';
import type { Planned } from '../../../../src/fleet/steps/step.ts';
import { desiredOf, factsOf } from '../../../support/host.ts';
import { cases } from './host-stack-cases.ts';
import { afterwards, lines, plan } from './host-stack-plan.ts';
import { simulate } from './simulate.ts';
import { afterDriver, bareLines } from './host-stack-lines.ts';

const defaults = desiredOf();

describe('driver, docker and toolkit', () => {
  it.each(cases)('%s', (_, facts, desired, expected) => {
    expect(lines(plan(facts, desired))).toEqual(expected);
  });

  const possible = cases.filter(([, , , expected]) => !expected.some((line) => line.startsWith('refused')));

  it.each(possible)('leave nothing to do afterwards: %s', (_, facts, desired) => {
    expect(plan(afterwards(facts, desired), desired)).toEqual([]);
  });

  it.each(possible)('reach the same state if a run is killed after any of them: %s', (_, facts, desired) => {
    const changes = plan(facts, desired).filter((item): item is Change => 'actions' in item);
    for (const killed of changes.keys()) {
      const left = changes.slice(0, killed).reduce((seen, change) => simulate(seen, change, desired), facts);
      expect(afterwards(left, desired)).toEqual(afterwards(facts, desired));
    }
  });

  it('plan the same changes with the same names each time', () => {
    expect(plan(factsOf(), defaults)).toEqual(plan(factsOf(), defaults));
  });

  it('install the driver again after its removal, although its module is still loaded', () => {
    const left = (inUse: boolean) =>
      factsOf({ driver: { loaded: '580.95.05', open: true, wasRemoved: true, inUse } });
    // No process uses the module: the script unloads it.
    const unloads = 'install NVIDIA driver 580 (open kernel modules, compute only) [gpus]';
    expect(lines(plan(left(false), defaults))).toEqual(bareLines.with(1, unloads));
    const planned = plan(left(true), defaults);
    expect(lines(planned)).toEqual([
      'add NVIDIA package repository [nothing]',
      'install NVIDIA driver 580 (open kernel modules, compute only) [machine]',
      'reboot the host [machine]',
      ...afterDriver,
    ]);
    expect(planned[2]).toMatchObject({
      why: 'the module 580.95.05 of the removed driver is in use',
    });
    // The loaded version is the desired one.
    const same = desiredOf({ driver: { version: '580.95.05' } });
    expect(lines(plan(left(true), same))).not.toContain('reboot the host [machine]');
    for (const inUse of [true, false]) expect(plan(afterwards(left(inUse), defaults), defaults)).toEqual([]);
  });

  it('plan the rest after a reboot', () => {
    const facts = factsOf({ driver: { nouveau: true } });
    const [first = [], second = []] = splitAtReboot(plan(facts, defaults));
    const rebooted = first.reduce((seen, change) => simulate(seen, change, defaults), facts);
    expect(plan(rebooted, defaults)).toEqual(second);
  });
});

function splitAtReboot(items: readonly (Planned | Refusal)[]): Change[][] {
  const changes = items.filter((item): item is Change => !('refused' in item) && item.kind === 'change');
  const reboot = changes.findIndex(({ actions }) => actions.some(({ kind }) => kind === 'reboot'));
  return [changes.slice(0, reboot + 1), changes.slice(reboot + 1)];
}
