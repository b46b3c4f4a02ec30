import { expect, test } from 'vitest';

import type { Desired } from '../../../../../src/fleet/steps/step.ts';
import { configured, count, planOn80, runningWith, slot, slots, desiredWith } from './manager-plans.ts';

const { name: _, ...plainSlot } = slot('');

const cases: readonly [string, Desired, Desired, string][] = [
  [
    'more agents',
    desiredWith(count(2)),
    desiredWith(count(4)),
    configured(`             ~ agents: 2 → 4
             ~ GPUs of each agent: 0-1, 2-3 → 0, 1, 2, 3
             ~ memory of each agent: 29.25 GiB → 14.5 GiB of 62.5 GiB
             + registers h200-1-2, h200-1-3 in pool gpu-lab
             ~ slots 0, 1 restart
                 running jobs finish first`),
  ],
  [
    'fewer agents',
    desiredWith(count(4)),
    desiredWith(count(2)),
    configured(`             ~ agents: 4 → 2
             ~ GPUs of each agent: 0, 1, 2, 3 → 0-1, 2-3
             ~ memory of each agent: 14.5 GiB → 29.25 GiB of 62.5 GiB
             - removes h200-1-2, h200-1-3 from pool gpu-lab
                 running jobs finish first
             ~ all slots restart
                 running jobs finish first`),
  ],
  [
    'one agent per GPU',
    desiredWith(count(2)),
    desiredWith(),
    configured(`             ~ agents: 2 → one per GPU
             ~ GPUs of each agent: 0-1, 2-3 → 0, 1, 2, 3
             ~ memory of each agent: 29.25 GiB → 14.5 GiB of 62.5 GiB
             + registers h200-1-2, h200-1-3 in pool gpu-lab
             ~ slots 0, 1 restart
                 running jobs finish first`),
  ],
  [
    'slots instead of a number',
    desiredWith(count(2)),
    desiredWith(slots(slot('big', { gpus: [0, 1] }), slot('bare', { gpus: [2], mode: 'host' }))),
    configured(`             ~ agents: 2 → slot big, slot bare
             + slot big: GPUs 0, 1
             + slot bare: GPUs 2, mode host
                 its jobs run directly on this host, without a container
             - slot 0: GPUs 0, 1
             - slot 1: GPUs 2, 3
             + registers h200-1-big, h200-1-bare in pool gpu-lab
             - removes h200-1-0, h200-1-1 from pool gpu-lab
                 running jobs finish first`),
  ],
  [
    'a number instead of different slots',
    desiredWith(
      slots(
        { ...plainSlot, mode: 'host' },
        { ...plainSlot, gpus: [1], limits: { memory: '8g' }, image: 'registry.lab/own:1' },
        slot('g', { gpus: [2], capabilities: ['compute', 'utility', 'graphics'] }),
      ),
    ),
    desiredWith(count(2)),
    configured(`             ~ agents: slot 0, slot 1, slot g → 2
             ~ slot 0 gpus: 0 → 0, 1
             ~ slot 0 mode: host → container
                 its jobs run in containers
             ~ slot 1 gpus: 1 → 2, 3
             - slot 1 limits.memory: 8g
             - slot 1 image: registry.lab/own:1
                 the slot runs the host's image
             - slot g: GPUs 2, capabilities compute, utility, graphics
             ~ memory of each agent: 19.5 GiB → 29.25 GiB of 62.5 GiB
             - removes h200-1-g from pool gpu-lab
                 running jobs finish first
             ~ slot 1 moves to a new image
                 running jobs finish first
             ~ slot 0 restarts
                 running jobs finish first`),
  ],
  [
    'different slots instead of a number',
    desiredWith(count(2)),
    desiredWith(
      slots(
        { ...plainSlot, gpus: [0, 1], mode: 'host' },
        { ...plainSlot, gpus: [2, 3], limits: { memory: '8g' }, image: 'registry.lab/own:1' },
        slot('g', { gpus: [1], share: true, capabilities: ['compute', 'utility', 'graphics'] }),
      ),
    ),
    configured(`             ~ agents: 2 → slot 0, slot 1, slot g
             ~ slot 0 mode: container → host
                 its jobs run directly on this host, without a container
             + slot 1 limits.memory: 8g
             + slot 1 image: registry.lab/own:1
             + slot g: GPUs 1, shared, capabilities compute, utility, graphics
             ~ memory of each agent without its own limit: 29.25 GiB → 19.5 GiB
               of 62.5 GiB
             + registers h200-1-g in pool gpu-lab
             ~ slot 1 moves to a new image
                 running jobs finish first
             ~ slot 0 restarts
                 running jobs finish first`),
  ],
  [
    'a list equal to the number',
    desiredWith(count(2)),
    desiredWith(slots({ ...plainSlot, gpus: [0, 1] }, { ...plainSlot, gpus: [2, 3] })),
    configured(`             ~ agents: 2 → slot 0, slot 1`),
  ],
  [
    'slots with other GPUs',
    desiredWith(slots(slot('a'), slot('b', { gpus: [1] }))),
    desiredWith(slots(slot('a', { gpus: [0, 1] }), slot('c', { gpus: [2], pool: 'train' }))),
    configured(`             ~ slot a gpus: 0 → 0, 1
             + slot c: GPUs 2, pool train
             - slot b: GPUs 1
             + registers h200-1-c in pool train
             - removes h200-1-b from pool gpu-lab
                 running jobs finish first
             ~ slot a restarts
                 running jobs finish first`),
  ],
  [
    'a slot in host mode',
    desiredWith(slots(slot('a'))),
    desiredWith(slots(slot('a', { mode: 'host' }))),
    configured(`             ~ slot a mode: container → host
                 its jobs run directly on this host, without a container
             ~ slot a restarts
                 running jobs finish first`),
  ],
  [
    'shared GPUs',
    desiredWith(count(4)),
    desiredWith({ ...count(8), share: true }),
    configured(`             ~ agents: 4 → 8
             ~ share: false → true
                 agents take turns on GPUs
             ~ GPUs of each agent: 0, 1, 2, 3 → 0, 1, 2, 3, 0, 1, 2, 3
             ~ memory of each agent: 14.5 GiB → 7.25 GiB of 62.5 GiB
             + registers h200-1-4, h200-1-5, h200-1-6, h200-1-7 in pool gpu-lab
             ~ slots 0, 1, 2, 3 restart
                 running jobs finish first`),
  ],
  [
    'the expected GPUs',
    desiredWith(),
    desiredWith({ gpus: 8 }),
    configured(`             + gpus: 8
             ~ GPUs of each agent: 0, 1, 2, 3 → 0, 1, 2, 3, 4, 5, 6, 7
             ~ memory of each agent: 14.5 GiB → 7.25 GiB of 62.5 GiB
             + registers h200-1-4, h200-1-5, h200-1-6, h200-1-7 in pool gpu-lab
             ~ slots 0, 1, 2, 3 restart
                 running jobs finish first`),
  ],
  [
    'names of agents',
    desiredWith(count(1)),
    desiredWith({ ...count(1), agentName: 'lab-{host}-{slot}' }),
    configured(`             ~ agentName: {host}-{slot} → lab-{host}-{slot}
             + registers lab-h200-1-0 in pool gpu-lab
             - removes h200-1-0 from pool gpu-lab
                 running jobs finish first`),
  ],
  [
    'another pool',
    desiredWith(),
    desiredWith({ pool: 'gpu-train' }),
    configured(`             ~ pool: gpu-lab → gpu-train
             ~ moves h200-1-0, h200-1-1, h200-1-2, h200-1-3 from pool gpu-lab to
               pool gpu-train
                 running jobs finish first`),
  ],
  [
    'another organization',
    desiredWith(),
    desiredWith({}, { organization: 'https://dev.azure.com/other' }),
    configured(`             ~ organization: https://dev.azure.com/example →
               https://dev.azure.com/other
                 agents that are registered in https://dev.azure.com/example are
                 not removed there
             + registers h200-1-0, h200-1-1, h200-1-2, h200-1-3 in pool gpu-lab
             ~ all slots restart
                 running jobs finish first`),
  ],
  [
    'another name of the host',
    desiredWith(),
    desiredWith({ name: 'h200-one' }),
    `h200-one: 2 changes
  ~ manager  write the manager's configuration
             differs from the inventory
             ~ name of the host: h200-1 → h200-one
             + registers h200-one-0, h200-one-1, h200-one-2, h200-one-3 in pool
               gpu-lab
             - removes h200-1-0, h200-1-1, h200-1-2, h200-1-3 from pool gpu-lab
                 running jobs finish first
  ~ manager  restart the manager (jobs keep running) and wait for it
             its files have changed

Changes: 2 on 1 host.
`,
  ],
];

test.each(cases)('the agents of a host: %s', (_, before, after, text) => {
  expect(planOn80(runningWith(before), after)).toBe(text);
});
