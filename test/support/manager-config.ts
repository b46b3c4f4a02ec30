import type { ManagerConfig } from '../../src/shared/contract/config.ts';

/** A valid configuration, as the CLI writes it. */
export function config(changes: Partial<ManagerConfig> = {}): ManagerConfig {
  return {
    schema: 1,
    host: 'box',
    organization: 'https://dev.azure.com/lab',
    credential: { kind: 'pat' },
    pool: 'gpu-lab',
    agents: { kind: 'one-per-gpu' },
    share: false,
    agentName: '{host}-{slot}',
    limits: {},
    driverCapabilities: ['compute', 'utility'],
    image: { kind: 'registry', reference: 'registry.example/agent:1' },
    datasets: [],
    jobs: { sudo: false, docker: false },
    registration: 'rest',
    capabilities: {},
    proxy: { noProxy: [], ca: false },
    metricsPort: 0,
    ...changes,
  };
}
