import { FleetError, type Problem } from '../../../shared/base/errors.ts';
import { createManagerClient, type ManagerClient } from '../../client/manager-client.ts';
import { HostPaths } from '../../../shared/contract/paths.ts';
import { createEngine } from '../../../shared/engine/docker.ts';
import type { Facts } from '../../facts/facts.ts';
import type { Checkup } from '../../../shared/health/checkup.ts';
import { probeHost } from '../../../shared/health/probe.ts';
import type { Verdict } from '../../../shared/health/verdict.ts';
import { probeOptions } from '../../steps/probe.ts';
import type { ApplyTools } from '../apply-tools.ts';
import { Interrupted } from '../interruption.ts';
import { readFacts } from '../connection.ts';
import type { Survey } from '../survey.ts';

const dockerSocket = '/var/run/docker.sock';

/** A host whose GPUs have just been looked at from a container. */
export interface Probed {
  readonly manager: ManagerClient;
  readonly facts: Facts;
  readonly probe: Checkup;
}

/** The first half of the proof: nvidia-smi in a container. Errors are verdicts, too. */
export async function probeVerdict(survey: Survey, tools: ApplyTools): Promise<Verdict> {
  return orVerdict(tools, async () => (await probeNow(survey, tools)).probe.verdict);
}

/** Reads the facts again where something was changed, and runs the probe container. */
export async function probeNow(
  { host, connection, plan, facts }: Survey,
  tools: ApplyTools,
): Promise<Probed> {
  const session = await connection.session();
  const manager = createManagerClient(session.socketAgent(HostPaths.socket), host.name);
  const now = plan.stages.length === 0 ? facts : await readFacts(connection, host, tools);
  const { image } = await manager.status();
  const engine = createEngine({ agent: session.socketAgent(dockerSocket) });
  return {
    manager,
    facts: now,
    probe: await probeHost(engine, probeOptions(host, now, image.digest ?? image.reference)),
  };
}

/** What keeps a host from being looked at is the verdict on it; `Interrupted` where somebody does. */
export async function orVerdict(
  { signal }: Pick<ApplyTools, 'signal'>,
  work: () => Promise<Verdict>,
): Promise<Verdict> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) throw new Interrupted({ during: 'proof' }, error);
    if (!(error instanceof FleetError)) throw error;
    return verdictOn(error.problem);
  }
}

export function verdictOn({ code, what, seen, next = 'run "azp-fleet status" for more' }: Problem): Verdict {
  const state = code.startsWith('ssh.') ? 'unreachable' : 'failed';
  return { state, cause: seen === undefined ? what : `${what}: ${seen}`, next };
}
