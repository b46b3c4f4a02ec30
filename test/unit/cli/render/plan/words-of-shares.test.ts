import { expect, test } from 'vitest';

import type { SlotStatus } from '../../../../../src/shared/contract/status.ts';
import { artifacts } from '../../../fleet/steps/manager/converged.ts';
import { configured, count, planOn80, runningWith, slot, slots, wish } from './manager-scene.ts';

type Host = Parameters<typeof wish>[0];

const shown = (name: string, share?: SlotStatus['share']): SlotStatus => ({
  slot: name,
  agent: `h200-1-${name}`,
  state: 'idle',
  gpus: [],
  since: '',
  jobsRun: 0,
  ...(share === undefined ? {} : { share }),
});
const older = (host: Host) =>
  runningWith(wish(host, { artifacts: artifacts('the release before') }), 4, {
    slots: [shown('0'), shown('1')],
  });
/** What the restart of the manager is said to mean. */
const restart = (host: Host): string => {
  const [, text = ''] = planOn80(older(host), wish(host)).split('restart the manager');
  return text.slice(0, text.indexOf('\n\nChanges:'));
};

test('a manager without shares gives way to one with: what each agent may use then, and that all start anew', () => {
  expect(restart(count(2))).toBe(` (jobs go on) and wait for it
             what it runs with has changed
             ~ memory of each agent: no limit → 29.25 GiB of 62.5 GiB
             ~ all slots start anew for this
                 a running job ends first`);
});

test('limits that are written out stay, and CPUs are no longer capped', () => {
  expect(restart({ ...count(2), limits: { memory: '16g', cpus: 8 } })).toBe(` (jobs go on) and wait for it
             what it runs with has changed
             ~ limits.cpus: a cap → a share
                 counts when all want theirs; what nobody wants is anybody’s
             ~ all slots start anew for this
                 a running job ends first`);
});

test('a slot straight on the host that has its own limit goes on as it is', () => {
  const bare = slot('0', { mode: 'host', limits: { memory: '8g' } });
  expect(restart(slots(bare, slot('1')))).toContain('~ slot 1 starts anew for this');
});

test('together with another configuration it is said once', () => {
  const text = planOn80(older(count(2)), wish(count(4)));
  expect(text.match(/memory of each agent: no limit → 14\.5 GiB of 62\.5 GiB/g)).toHaveLength(1);
  expect(text.match(/start anew/g)).toHaveLength(1);
});

test('one with shares is told nothing of them', () => {
  const share = { memoryMiB: 29_952, cpuShares: 1024 };
  const facts = runningWith(wish(count(2), { artifacts: artifacts('another build') }), 4, {
    slots: [shown('0', share), shown('1', share)],
  });
  expect(planOn80(facts, wish(count(2)))).not.toMatch(/memory|anew/);
});

test.each([
  [
    'CPUs and a size',
    wish(),
    wish({ limits: { cpus: 16, disk: '200g' } }),
    `             + limits.cpus: 16
                 counts when all want theirs; what nobody wants is anybody’s
             + limits.disk: 200g
                 where the storage of Docker can; elsewhere status says so
             ~ all slots start anew for this
                 a running job ends first`,
  ],
  [
    'no limit of its own any more',
    wish({ limits: { memory: '8g' } }),
    wish(),
    `             - limits.memory: 8g
             + memory of each agent: 14.5 GiB of 62.5 GiB
             ~ all slots start anew for this
                 a running job ends first`,
  ],
])('another share: %s', (_, before, after, lines) => {
  expect(planOn80(runningWith(before), after)).toBe(configured(lines));
});

test('a host that does not tell its memory has nothing told of it', () => {
  const facts = { ...runningWith(wish(count(2))), memoryMiB: 0 };
  expect(planOn80(facts, wish(count(4)))).not.toContain('memory');
});
