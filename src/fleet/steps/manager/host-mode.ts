import type { Facts } from '../../facts/facts.ts';
import type { HostSpec } from '../../inventory/fleet.ts';
import { refusal } from '../changes.ts';
import type { Refusal } from '../step.ts';

/** Type=exec came with it (its NEWS); release 8 of Red Hat's systems has 239, without it (perfsonar/pscheduler#1393). */
const oldest = 240;

/** Agents straight on the host are units whose start systemd has to tell of; undefined: nothing is in their way. */
export function tooOldForHostMode({ systemd }: Facts, { agents }: HostSpec): Refusal | undefined {
  const onHost = agents.kind === 'slots' && agents.slots.some(({ mode }) => mode === 'host');
  if (!onHost || systemd === undefined || systemd >= oldest) return undefined;
  return refusal(
    'manager',
    `agents straight on the host need systemd ${oldest}, and this host has ${systemd}`,
    'take mode: host out of its slots, or install a newer release of the system',
  );
}
