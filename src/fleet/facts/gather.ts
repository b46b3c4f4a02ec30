import { FleetError } from '../../shared/base/errors.ts';
import type { HostRoot } from '../../shared/base/host-root.ts';
import { isIgnored } from '../../shared/contract/gpus.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { frameScript, parseFrames, type Probe } from '../ssh/session/frames.ts';
import type { Session } from '../ssh/transport.ts';
import type { Facts, PciGpu } from './facts.ts';
import { parseFacts, probes } from './parse.ts';
import type { ProbeTarget } from './probe.ts';

/** Bytes of all facts: a host with thousands of packages has a tenth of this. */
const outputLimit = 4 * 1024 * 1024;

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
  host: Pick<HostSpec, 'name' | 'ignoredGpus'>,
  root: HostRoot,
  signal?: AbortSignal,
): Promise<Facts> {
  const result = await session.script(frameScript(factProbes({ root })), {
    as: 'root',
    totalTimeoutMs: 60_000,
    outputLimit,
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    const facts = parseFacts(parseFrames(result.stdout));
    const isServed = (gpu: PciGpu): boolean => !isIgnored(gpu, host.ignoredGpus);
    return {
      ...facts,
      gpus: facts.gpus.filter(isServed),
      ignoredGpus: facts.gpus.filter((gpu) => !isServed(gpu)),
    };
  } catch (error) {
    throw error instanceof FleetError ? error.at({ host: host.name, step: 'facts' }) : error;
  }
}
