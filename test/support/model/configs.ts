import fc from 'fast-check';
import type { ManagerConfig } from '../../../src/shared/contract/config.ts';
import type { SlotSpec } from '../../../src/shared/contract/slots.ts';
import { config } from '../manager-config.ts';

/** Slots by name: two patterns give the same agent names, so that slots are renamed and their agents are not. */
const patterns = [
  { agentName: '{host}-{slot}', names: ['a', 'b', 'c', 'd'] },
  { agentName: '{slot}', names: ['box-a', 'box-b', 'box-c', 'box-d'] },
  { agentName: 'gpu-{slot}', names: ['a', 'b', 'c', 'd'] },
] as const;

const slot = fc.record({
  exists: fc.boolean(),
  pool: fc.constantFrom(undefined, undefined, 'nightly'),
  pids: fc.constantFrom(undefined, undefined, 4096),
});

/** Configurations of a host without GPUs: one to four slots in two pools, some with separate limits. */
export const configs: fc.Arbitrary<ManagerConfig> = fc
  .tuple(
    fc.constantFrom(...patterns),
    fc.array(slot, { minLength: 4, maxLength: 4 }),
    fc.constantFrom({}, { team: 'vision' }),
    fc.constantFrom(undefined, undefined, 60, 300),
  )
  .map(([{ agentName, names }, slots, capabilities, afterS]) => {
    const specs = slots.flatMap(({ exists, pool, pids }, at): SlotSpec[] =>
      exists || at === 0
        ? [
            {
              name: names[at] ?? '',
              gpus: [],
              share: false,
              limits: pids === undefined ? {} : { pids },
              capabilities: ['compute', 'utility'],
              mode: 'container',
              ...(pool === undefined ? {} : { pool }),
            },
          ]
        : [],
    );
    return config({
      agentName,
      capabilities,
      agents: { kind: 'slots', slots: specs },
      ...(afterS === undefined ? {} : { idle: { afterS, run: 'poweroff' } }),
    });
  });
