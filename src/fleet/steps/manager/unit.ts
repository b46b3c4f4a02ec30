import { sha256 } from '../../../shared/base/digest.ts';
import { unitMarkVariable } from '../../../shared/contract/paths.ts';

/** The manager's unit for a host. */
export interface ManagerUnit {
  readonly text: string;
  /** What a process that this text started has in its environment, and tells in its status. */
  readonly mark: string;
}

/** The oldest systemd that the unit is written for. */
const oldest = 239;

/**
 * Settings that came later, with the version of systemd that brought them, by its NEWS. An older one would pass over them, and
 * complain at each start. Without LoadCredential= the manager reads the root-only file itself; without RestartSteps= the pause
 * between restarts does not grow.
 */
export const laterSettings: ReadonlyMap<string, number> = new Map([
  ['ProtectHostname', 242],
  ['RestrictSUIDSGID', 242],
  ['ProtectClock', 245],
  ['TimeoutStartFailureMode', 246],
  ['LoadCredential', 247],
  ['RestartMaxDelaySec', 254],
  ['RestartSteps', 254],
]);

/** `systemd`: its version on the host; undefined: not known. */
export function managerUnitFor(unit: string, systemd = oldest): ManagerUnit {
  const plain = unit
    .split('\n')
    .filter((line) => (laterSettings.get(line.split('=', 1)[0] ?? '') ?? oldest) <= systemd)
    .join('\n');
  const mark = sha256(plain).slice(0, 12);
  return { text: plain.replace(/^\[Service\]\n/m, `$&Environment=${unitMarkVariable}=${mark}\n`), mark };
}

/** The unit's text as people compare it. */
export function withoutMark(text: string): string {
  return text.replace(new RegExp(`^Environment=${unitMarkVariable}=.*\n`, 'm'), '');
}
