import type { Facts, GatheredFacts, PciGpu } from './facts.ts';
import { parseFacts, probes } from './parse.ts';
import { answerLimit, type FactProbe, framed, type ProbeTarget, readingOf } from './probe.ts';
import { changesProbe } from './probes/changes.ts';
import { machineProbe } from './probes/machine.ts';
import { unreadProblem } from './unread.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import { frameScript, parseFrames, type Probe } from '../ssh/session/frames.ts';
import type { Session } from '../ssh/transport.ts';
import { FleetError } from '../../shared/base/errors.ts';
import { foreignLine, foreignValue } from '../../shared/base/foreign-text.ts';
import { type HostRoot, machineRoot } from '../../shared/base/host-root.ts';
import { isIgnored } from '../../shared/contract/gpus.ts';

/** Bytes of all facts: far more than a host has, also where several probes print up to their limit. */
const outputLimit = 8 * answerLimit;

/** Returns the probes of the fact script. */
export function factProbes(target: ProbeTarget): Probe[] {
  return probes.map((probe) => framed(probe, target));
}

/** Returns the script that reads all facts. */
export function factScript(target: ProbeTarget): string {
  return frameScript(factProbes(target), answerLimit);
}

/** Reads all facts of a host with one exec, as root. */
export async function gatherFacts(
  session: Session,
  host: Pick<HostSpec, 'name' | 'ignoredGpus'>,
  root: HostRoot,
  signal?: AbortSignal,
): Promise<GatheredFacts> {
  const result = await session.script(factScript({ root }), {
    as: 'root',
    totalTimeoutMs: 120_000,
    outputLimit,
    ...(signal === undefined ? {} : { signal }),
  });
  try {
    const facts = parseFacts(parseFrames(result.stdout));
    const isServed = (gpu: PciGpu): boolean => !isIgnored(gpu, host.ignoredGpus);
    const served: Facts = {
      ...facts,
      gpus: facts.gpus.filter(isServed),
      ignoredGpus: facts.gpus.filter((gpu) => !isServed(gpu)),
    };
    // V8 keeps a whole output as long as any text that was cut from it.
    return structuredClone(served);
  } catch (error) {
    throw error instanceof FleetError ? error.at({ host: host.name, step: 'facts' }) : error;
  }
}

/** Reads only the machine's identity, without root. */
export async function machineNow(
  session: Session,
  signal: AbortSignal,
): Promise<Pick<Facts, 'machineId' | 'bootId'>> {
  const { machineId, bootId } = await readAlone(machineProbe, session, signal);
  return foreignValue({ machineId, bootId }, (text) => foreignLine(text));
}

/**
 * Reads only the present durable changes of a host, for runs that stop early. It takes no abort signal: it also runs during a
 * shutdown.
 */
export async function changesNow(session: Session): Promise<Facts['changes']> {
  const changes = await readAlone(changesProbe, session);
  return foreignValue(changes, (text) => foreignLine(text));
}

/** Reads one probe as a separate script. */
async function readAlone<T>(probe: FactProbe<T>, session: Session, signal?: AbortSignal): Promise<T> {
  const { script } = framed(probe, { root: machineRoot });
  const result = await session.script(script, {
    totalTimeoutMs: 10_000,
    ...(signal === undefined ? {} : { signal }),
  });
  const reading = readingOf(probe, { ...result, timedOut: false });
  if (reading.kind === 'value') return reading.value;
  throw new FleetError(unreadProblem(session.host, [{ fact: probe.name, why: reading.why }]));
}
