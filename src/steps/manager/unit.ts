import { sha256 } from '../../base/digest.ts';
import { unitMarkVariable } from '../../contract/paths.ts';

/** The manager's unit for a host. */
export interface ManagerUnit {
  readonly text: string;
  /** What a process that this text started has in its environment, and tells in its status. */
  readonly mark: string;
}

/** Older systemd has no LoadCredential=; the manager then reads the root-only file itself. */
export function managerUnitFor(unit: string, systemd: number | undefined): ManagerUnit {
  const loads = systemd !== undefined && systemd >= 247;
  const plain = loads ? unit : unit.replaceAll(/^LoadCredential=.*\n/gm, '');
  const mark = sha256(plain).slice(0, 12);
  return { text: plain.replace(/^\[Service\]\n/m, `$&Environment=${unitMarkVariable}=${mark}\n`), mark };
}

/** The unit's text as people compare it. */
export function withoutMark(text: string): string {
  return text.replace(new RegExp(`^Environment=${unitMarkVariable}=.*\n`, 'm'), '');
}
