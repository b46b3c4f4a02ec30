import type { StartedWith } from '../../../shared/contract/status.ts';
import { imageOverall } from '../../../shared/contract/status.ts';
import type { Facts } from '../../facts/facts.ts';

/** What the running manager has to have been started with. */
export interface WantedStart extends StartedWith {
  readonly configHash: string;
}

/** Why a manager whose files are all right has to be restarted all the same: what runs is not what lies there. */
export function staleness(facts: Facts, wanted: WantedStart): string | undefined {
  const { status, unitActive, unitEnabled, reloadNeeded } = facts.manager;
  if (unitActive !== 'active') return `it is ${unitActive ?? 'not running'}`;
  if (!unitEnabled) return 'it would not start after a reboot';
  if (reloadNeeded) return 'systemd has not read its unit since that was changed';
  if (status === undefined) return undefined;
  if (status.configHash !== wanted.configHash) return 'it still runs with an earlier configuration';
  const earlier = earlierPart(status.started, wanted);
  if (earlier !== undefined) return `it was started with an earlier ${earlier}`;
  const { state, cause = 'unknown cause' } = imageOverall(status);
  return state === 'failed' ? `no agent image: ${cause}` : undefined;
}

/** A manager that does not tell is of an earlier version than the one that is installed. */
function earlierPart(started: StartedWith | undefined, wanted: StartedWith): string | undefined {
  if (started?.program !== wanted.program) return 'version';
  if (started.unit !== wanted.unit) return 'unit';
  return started.ca === wanted.ca ? undefined : 'certificate authority';
}
