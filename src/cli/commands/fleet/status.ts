import type { Context } from '../../../base/context.ts';
import { ExitCode, type Problem } from '../../../base/errors.ts';
import type { EventSink } from '../../../apply/events.ts';
import { planFleetPools } from '../../../apply/pools.ts';
import type { Transport } from '../../../ssh/transport.ts';
import { painter } from '../../../render/color.ts';
import { problemLines } from '../../../render/problem.ts';
import { createProgress } from '../../../render/progress.ts';
import { statusText } from '../../../render/status.ts';
import { listPools, lookAtHosts } from '../../../status/collect.ts';
import { driftOf } from '../../../status/drift.ts';
import { statusExitCode } from '../../../status/exit-code.ts';
import { statusRow, type Look, type StatusRow } from '../../../status/row.ts';
import type { CommandInput } from '../../command.ts';
import { openFleet, type OpenFleet } from '../../fleet.ts';
import { openWorkbench } from '../../planning-tools.ts';
import { openTransport } from '../../transport.ts';

/** Shows how every host is. Changes nothing. */
export async function run(context: Context, input: CommandInput): Promise<ExitCode> {
  const open = await openFleet(context, input);
  const { options } = input;
  const json = options.flag('json');
  const progress = createProgress(context, { hosts: open.hosts.map(({ name }) => name), json });
  const transport = openTransport(context, open, progress, { json });
  try {
    const [looks, pools] = await Promise.all([
      lookAtHosts(open.hosts, {
        transport,
        emit: progress.sink,
        signal: context.signal,
        parallel: options.integer('parallel', { min: 1, max: 1000 }) ?? 50,
        probe: options.flag('probe') ? { deadlineMs: options.duration('probeTimeout') ?? 60_000 } : undefined,
      }),
      listPools(open.azure, open.hosts),
    ]);
    const drift = options.flag('drift')
      ? await findDrift(context, input, open, transport, progress.sink, looks)
      : undefined;
    await progress.finish();
    const now = context.now();
    const rows = looks.map((look): StatusRow => {
      const row = statusRow(look, pools.agents.get(look.host.pool), now);
      const changes = drift?.hosts.get(row.host);
      return changes === undefined ? row : { ...row, drift: changes };
    });
    show(context, input, rows, { problems: pools.problems, fleetDrift: drift?.fleet ?? [], now });
    return statusExitCode(rows, {
      strict: options.flag('strict'),
      drift: drift !== undefined,
      fleetDrift: (drift?.fleet.length ?? 0) > 0,
      problems: pools.problems.length,
    });
  } finally {
    await progress.finish();
    await transport.close();
  }
}

interface Drift {
  readonly hosts: ReadonlyMap<string, readonly string[]>;
  readonly fleet: readonly string[];
}

async function findDrift(
  context: Context,
  input: CommandInput,
  open: OpenFleet,
  transport: Transport,
  emit: EventSink,
  looks: readonly Look[],
): Promise<Drift> {
  const { tools } = await openWorkbench(context, input, open, transport, emit);
  const names = open.hosts.map(({ pool }) => pool);
  const { changes } = await planFleetPools(open.azure, names, open.fleet.projects);
  return { hosts: driftOf(looks, tools), fleet: changes.map(({ title }) => title) };
}

function show(
  context: Context,
  input: CommandInput,
  rows: readonly StatusRow[],
  rest: {
    readonly problems: readonly Problem[];
    readonly fleetDrift: readonly string[];
    readonly now: number;
  },
): void {
  const { problems, fleetDrift, now } = rest;
  if (input.options.flag('json')) {
    const at = new Date(now).toISOString();
    context.stdout.write(
      `${JSON.stringify({ schema: 1, at, hosts: rows, problems, fleetDrift }, null, 2)}\n`,
    );
    return;
  }
  context.stdout.write(
    statusText(rows, {
      width: context.stdout.columns ?? 120,
      paint: painter(context.stdout, context.env),
      now,
    }),
  );
  for (const title of fleetDrift) context.stdout.write(`~ Azure DevOps: provision would change: ${title}\n`);
  for (const problem of problems) {
    context.stderr.write(`${problemLines(problem, (context.stderr.columns ?? 80) - 1).join('\n')}\n`);
  }
}
