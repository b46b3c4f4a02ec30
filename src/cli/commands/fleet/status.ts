import type { Context } from '../../../base/context.ts';
import { planFleetPools } from '../../../apply/pools.ts';
import { painter } from '../../../render/color.ts';
import { statusText } from '../../../render/status.ts';
import { listPools, lookAtHosts } from '../../../status/collect.ts';
import { driftOf } from '../../../status/drift.ts';
import { statusExitCode } from '../../../status/exit-code.ts';
import { statusRow, type Look, type StatusRow } from '../../../status/row.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet, openForPlan, withFleet, type OpenFleet } from '../../fleet/fleet.ts';
import { openPlanning } from '../../fleet/planning-tools.ts';
import { problemsAmong, type Result } from '../../result.ts';
import type { Connected } from '../../fleet/with-hosts.ts';

/** Shows how every host is. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<Result> {
  const { options } = input;
  const look = async (open: OpenFleet & Connected): Promise<Result> => {
    const { hosts, transport, emit } = open;
    const [looks, pools] = await Promise.all([
      lookAtHosts(hosts, {
        transport,
        root: context.root,
        emit,
        signal: context.signal,
        parallel: options.integer('parallel', { min: 1, max: 1000 }) ?? 50,
        probe: options.flag('probe') ? { deadlineMs: options.duration('probeTimeout') ?? 60_000 } : undefined,
      }),
      listPools(open.azure, hosts),
    ]);
    const drift = options.flag('drift') ? await findDrift(context, input, open, looks) : undefined;
    const now = context.clock.wall();
    const rows = looks.map((look): StatusRow => {
      const row = statusRow(look, pools.agents.get(look.host.pool), now);
      const changes = drift?.hosts.get(row.host);
      return changes === undefined ? row : { ...row, drift: changes };
    });
    const fleetDrift = drift?.fleet ?? [];
    return {
      exitCode: statusExitCode(rows, {
        strict: options.flag('strict'),
        drift: drift !== undefined,
        fleetDrift: fleetDrift.length > 0,
        problems: pools.problems.length,
      }),
      json: { hosts: rows, fleetDrift },
      problems: [...pools.problems, ...problemsAmong(looks)],
      text: () => text(context, rows, fleetDrift, now),
      aside: pools.problems,
    };
  };
  return withFleet(context, input, look, options.flag('drift') ? openForPlan : openFleet);
}

interface Drift {
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  readonly fleet: readonly string[];
}

async function findDrift(
  context: Context,
  input: CommandInput,
  open: OpenFleet & Connected,
  looks: readonly Look[],
): Promise<Drift> {
  const { tools } = await openPlanning(context, input, open);
  const names = open.hosts.map(({ pool }) => pool);
  const { changes } = await planFleetPools(open.azure, names, open.fleet.projects);
  return { hosts: driftOf(looks, tools), fleet: changes.map(({ title }) => title) };
}

function text(
  { stdout, env }: Context,
  rows: readonly StatusRow[],
  fleetDrift: readonly string[],
  now: number,
): string {
  const table = statusText(rows, { width: stdout.columns ?? 120, paint: painter(stdout, env), now });
  const more = fleetDrift.map((title) => `~ Azure DevOps: provision would change: ${title}\n`);
  return [table, ...more].join('');
}
