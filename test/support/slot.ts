import type { Slot } from '../../src/manager/model.ts';

/** Returns a slot in a container, with all defaults. */
export const plainSlot: Slot = {
  name: '0',
  agent: 'box-0',
  gpus: [],
  missing: [],
  limits: {},
  uid: 59_000,
  capabilities: [],
  mode: 'container',
  pool: 'gpu-lab',
  image: { kind: 'registry', reference: 'registry.example/agent:1' },
};
