import type { WaitingReport } from '../../fleet/waiting/report.ts';
import { readWaiting } from '../../fleet/waiting/read.ts';
import { askManagers } from '../../fleet/client/fleet-managers.ts';
import { plainPools } from '../../fleet/inventory/pool-pattern.ts';
import { buildAddress } from '../../shared/azure/build-address.ts';
import { organizationUrl } from '../../shared/azure/url.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, type Problem, usageError } from '../../shared/base/errors.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import type { CommandInput } from '../command.ts';
import { painter } from '../render/color.ts';
import { waitingText } from '../render/waiting.ts';
import type { Result } from '../result.ts';
import { openFleet } from '../run/fleet.ts';
import { connected, notesOnly, overSsh } from '../run/hosts.ts';
import { fittingPools } from '../run/pools.ts';

/** Shows why the jobs of a build wait, or failed at once. Changes nothing. */
export async function runJob(context: Context, input: CommandInput, job: string): Promise<Result> {
  if (input.options.flag('fix'))
    throw usageError({
      code: 'usage.option',
      what: '--job and --fix were given together',
      next: 'run azp-fleet doctor HOST --fix for the hosts that --job names',
    });
  const open = await openFleet(context, input);
  const organization = organizationUrl(open.fleet.organization);
  const address = buildAddress(job, organization);
  const { signal, log, clock, stdout, env } = context;
  return connected(context, input, open, { ...overSsh, draw: notesOnly }, async (at) => {
    const { azure, builds, fleet, hosts, transport } = at;
    const plain = plainPools(hosts);
    const patterns = hosts.flatMap(poolsOf).filter((pool) => !plain.includes(pool));
    const report = await readWaiting(address, {
      azure,
      builds,
      organization,
      hosts,
      projects: fleet.projects,
      pools: [...new Set([...plain, ...(await fittingPools(azure, patterns))])],
      askManagers: (asked) =>
        askManagers(asked, transport, { parallel: 50, signal, log }, (manager) => manager.status()),
      now: clock.wall(),
    });
    const problems = notFound(report);
    const style = { width: stdout.columns ?? 100, paint: painter(stdout, env), now: clock.wall() };
    return {
      exitCode: isStuck(report) ? ExitCode.hostFailed : ExitCode.ok,
      json: { machine: null, hosts: null, fixed: null, job: report },
      problems,
      aside: problems,
      text: () => waitingText(report, style),
    };
  });
}

function isStuck({ jobs, causes, build }: WaitingReport): boolean {
  const waits = jobs.some(({ state }) => ['waiting', 'sent', 'failed at once'].includes(state));
  return waits || causes.length > 0 || (jobs.length === 0 && build.status === undefined);
}

function notFound({ build, jobs, causes, queue }: WaitingReport): readonly Problem[] {
  if (jobs.length > 0 || causes.some(({ isPossible }) => isPossible !== true) || build.status !== undefined)
    return [];
  return [
    {
      code: 'waiting.not-found',
      step: 'pool',
      what: `no job of build ${build.id} is queued, and none of its jobs ended lately`,
      next:
        queue.length === 0
          ? 'check the number: buildId= in the address of the run'
          : 'name one of the builds that are queued, or check the number: buildId= in the address of the run',
    },
  ];
}
