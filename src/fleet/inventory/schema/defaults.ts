import type { WaveLimits } from '../fleet.ts';
import { defaultLine } from '../../../shared/base/support-dates.ts';
import { defaultAgentVersion } from '../../../shared/contract/agent-release.ts';

/** Default versions: the newest known to work together, by the table of `support-dates.ts`. */
export const defaultVersions = {
  docker: defaultLine('docker').version ?? '',
  toolkit: defaultLine('toolkit').version ?? '',
  driverBranch: defaultLine('driver').line,
  agent: defaultAgentVersion,
} as const;

/** A quarter, as in Kubernetes' rolling updates; the first failure stops the run. */
export const defaultWaves: WaveLimits = {
  maxUnavailable: { kind: 'percent', percent: 25 },
  maxFailures: { kind: 'count', count: 0 },
};

/** Longer than a new container and a reboot take, and longer than people wait without asking why. */
export const defaultWebhook = { offline: '10m', queueWait: '30m' } as const;

/** Ten bundles at a time fill most links; each buffers some MiB. */
export const defaultUploads = { parallel: 10 } as const;
