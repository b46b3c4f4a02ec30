import type { ManagerStatus } from '../../src/shared/contract/status.ts';

/** Returns the status of a healthy manager without slots, with the given parts replaced. */
export function managerStatus(parts: Partial<ManagerStatus> = {}): ManagerStatus {
  const { pool = { name: 'gpu-lab' }, image = { state: 'ready' }, slots = [] } = parts;
  return {
    schema: 1,
    version: '0.2.0',
    protocol: 2,
    node: '24.21.0',
    at: '2026-11-21T00:00:00Z',
    host: 'h200-1',
    pool,
    pools: [{ ...pool, up: true }],
    configHash: '',
    started: { program: '/opt/azp-fleet/versions/1' },
    image,
    images: [{ ...image, slots: slots.map(({ slot }) => slot) }],
    drained: false,
    drains: [],
    slots,
    health: { state: 'healthy', findings: [] },
    problems: [],
    ...parts,
  };
}
