import type { ManagerStatus } from '../../src/shared/contract/status.ts';

/** What a manager without slots says when all is well, with other parts where a test wants them. */
export function managerStatus(parts: Partial<ManagerStatus> = {}): ManagerStatus {
  return {
    schema: 1,
    version: '0.2.0',
    at: '2026-11-21T00:00:00Z',
    host: 'h200-1',
    pool: { name: 'gpu-lab' },
    configHash: '',
    image: { state: 'ready' },
    drained: false,
    slots: [],
    health: { state: 'healthy', findings: [] },
    problems: [],
    ...parts,
  };
}
