import { FleetError } from '../base/errors.ts';
import type { HostRoot } from '../base/machine/host-root.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { frameScript, parseFrames, type Probe } from '../ssh/session/frames.ts';
import type { Session } from '../ssh/transport.ts';
import type { Facts } from './facts.ts';
import { parseFacts, probes } from './parse.ts';
import type { ProbeTarget } from './probe.ts';

/** The probes of the fact script. */
export function factProbes(target: ProbeTarget): Probe[] {
  return probes.map(({ name, timeoutS, script }) => ({
    name,
    script: script(target),
    ...(timeoutS === undefined ? {} : { timeoutS }),
  }));
}

/** Reads all facts of a host with one exec, as root. */
export async function gatherFacts(
  session: Session,
  host: Pick<HostSpec, 'name'>,
  root: HostRoot,
  signal?: AbortSignal,
): Promise<Facts> {
  const result = await session.script(frameScript(factProbes({ root })), {
    as: 'root',
    totalTimeoutMs: 60_000,
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    return parseFacts(parseFrames(result.stdout));
  } catch (error) {
    throw error instanceof FleetError ? error.at({ host: host.name, step: 'facts' }) : error;
  }
}
