import path from 'node:path';

import type { HostSpec } from '../../fleet/inventory/fleet.ts';
import { plainPools } from '../../fleet/inventory/pool-pattern.ts';
import type { Context } from '../../shared/base/context.ts';
import { ExitCode, usageError } from '../../shared/base/errors.ts';
import { completed, nearest } from '../../shared/base/nearest.ts';
import { poolsOf } from '../../shared/contract/slots.ts';
import type { CommandInput } from '../command.ts';
import { type Options, refuseControl } from '../options.ts';
import { offersOf, type PipelineKind, pipelineKinds, pipelineText } from '../render/pipeline.ts';
import type { Result } from '../result.ts';
import { openHosts } from '../run/inventory.ts';
import { writeInventory } from '../setup/inventory-file.ts';

/** Prints azure-pipelines.yml for a pool, or writes it. Contacts no host. */
export function run(context: Context, input: CommandInput): Promise<Result> {
  const { options, positionals } = input;
  refuseControl(positionals, 'the name of a pool');
  const kind = kindOf(options);
  const { fleet, hosts } = openHosts(context, input, []);
  const pool = poolOf(hosts, positionals);
  const offers = offersOf(hosts, pool);
  if (offers.length === 0) throw poolError(`no host of the inventory is in pool ${pool}`, hosts);
  const { images } = fleet.mirrors;
  const pipeline = pipelineText({ kind, pool, offers, ...(images === undefined ? {} : { images }) });
  const file = options.string('output');
  const kept = file === undefined ? undefined : place(path.resolve(context.cwd, file), pipeline, options);
  const before = kept === undefined ? '' : `backup: ${kept}\n`;
  return Promise.resolve({
    exitCode: ExitCode.ok,
    json: { pool, kind, pipeline, file: file === undefined ? null : path.resolve(context.cwd, file) },
    text: () =>
      file === undefined
        ? pipeline
        : `${file} written\n${before}Next: commit it, and create a pipeline from it in your project\n`,
  });
}

function place(file: string, text: string, options: Options): string | undefined {
  const next = 'add --replace, which keeps a backup, or name another file with --output FILE';
  return writeInventory(file, text, { replace: options.flag('replace'), next });
}

function kindOf(options: Options): PipelineKind {
  const kind = options.string('kind') ?? 'gpu';
  if (Object.hasOwn(pipelineKinds, kind)) return kind as PipelineKind;
  const kinds = Object.keys(pipelineKinds);
  throw usageError({
    code: 'usage.option',
    what: `unknown pipeline kind ${kind}`,
    expected: kinds.join(', '),
    next: `did you mean "${nearest(kind, kinds) ?? completed(kind, kinds) ?? 'gpu'}"?`,
  });
}

/** Returns the named pool, or the only one. */
function poolOf(hosts: readonly HostSpec[], named: readonly string[]): string {
  if (named.length > 1) throw poolError('a pipeline is for one pool', hosts);
  const pools = named.length === 1 ? named : plainPools(hosts);
  const [pool] = pools;
  if (pool === undefined) throw poolError('the pool names depend on facts of the hosts', hosts);
  if (pools.length > 1) throw poolError('the hosts are in several pools', hosts);
  return pool;
}

function poolError(what: string, hosts: readonly HostSpec[]): Error {
  const pools = [...new Set(hosts.flatMap(poolsOf))];
  return usageError({
    code: 'usage.pool',
    what,
    seen: pools.join(', '),
    next: `name one pool: azp-fleet pipeline ${plainPools(hosts)[0] ?? 'POOL'}`,
  });
}
