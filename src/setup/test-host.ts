import type { Context } from '../base/context.ts';
import type { Problem } from '../base/errors.ts';
import { troubleOf } from '../base/host-trouble.ts';
import type { Facts } from '../facts/facts.ts';
import { gatherFacts } from '../facts/gather.ts';
import type { HostSpec } from '../inventory/fleet.ts';
import type { HostState } from '../apply/events.ts';
import type { Transport } from '../ssh/transport.ts';
import { platformOf, unsupported } from '../packages/distribution.ts';

/** What a live test found. `gpus` and `summary` are there once the facts could be read. */
export interface HostReport {
  readonly name: string;
  readonly gpus?: number;
  /** `Debian 13, 8 GPUs, labadmin` */
  readonly summary?: string;
  readonly problem?: Problem;
}

type Stage = (state: HostState, text?: string) => void;

/** Logs in, becomes root, reads the facts and judges them. Changes nothing. Rejects only when stopped. */
export async function testHost(
  transport: Transport,
  host: Pick<HostSpec, 'name' | 'ssh'>,
  { root, signal, log }: Pick<Context, 'root' | 'signal' | 'log'>,
  stage: Stage,
): Promise<HostReport> {
  try {
    stage('connecting');
    const session = await transport.connect(host, { signal });
    try {
      stage('reading');
      const report = judge(host.name, await gatherFacts(session, host, root, signal));
      stage(report.problem ? 'failed' : 'ok', report.problem?.what ?? report.summary);
      return report;
    } finally {
      await session.close();
    }
  } catch (error) {
    if (signal.aborted) throw error;
    const problem = troubleOf(host.name, error, log);
    stage(
      /^ssh\.(unreachable|refused|timeout|dns|connection-lost)$/.test(problem.code)
        ? 'unreachable'
        : 'failed',
      problem.what,
    );
    return { name: host.name, problem };
  }
}

/** Whether a host with these facts can be provisioned. */
export function judge(name: string, facts: Facts): HostReport {
  const gpus = facts.gpus.length;
  const report = { name, gpus, summary: `${systemName(facts)}, ${gpuCount(gpus)}, ${facts.login.user}` };
  if (platformOf(facts) === undefined)
    return { ...report, problem: { code: 'setup.unsupported', host: name, ...unsupported(facts) } };
  if (facts.systemd === undefined)
    return {
      ...report,
      problem: {
        code: 'setup.no-systemd',
        host: name,
        what: 'there is no systemd to run the manager',
        next: 'use a machine or virtual machine that boots with systemd, not a plain container',
      },
    };
  return report;
}

function systemName({ os }: Facts): string {
  const name = os.id.charAt(0).toUpperCase() + os.id.slice(1);
  return os.versionId === '' ? os.pretty : `${name} ${os.versionId}`;
}

function gpuCount(count: number): string {
  return count === 0 ? 'no GPU' : `${count} GPU${count === 1 ? '' : 's'}`;
}
