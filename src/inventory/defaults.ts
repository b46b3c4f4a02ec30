import { defaultAgentVersion } from '../contract/agent-release.ts';

/** Versions that a new fleet gets. Newest known to work together, November 2026. */
export const defaultVersions = {
  docker: '29.7.2',
  toolkit: '1.20.0',
  driverBranch: '580',
  agent: defaultAgentVersion,
} as const;
